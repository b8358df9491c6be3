-- SPDX-License-Identifier: MIT
--
-- Which stacks end in a function is asked of all of them, for one request:
-- without a look at the node of each.

ALTER TABLE stack ADD COLUMN
  leaf_frame_id INTEGER /* the frame of its leaf's node; NULL: has none, or was
                recorded by schema 8 or earlier: stack_node tells */;

CREATE INDEX stack_leaf_frame ON stack (leaf_frame_id);
