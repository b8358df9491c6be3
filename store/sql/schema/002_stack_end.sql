-- SPDX-License-Identifier: MIT
--
-- Why the walk over user frames ended, beside the status that follows from it.
-- Stacks of schema 1 have none. The roots of stack_node are now one for each
-- status and reason; those of schema 1 (0 to -4) stay what they were.

ALTER TABLE stack ADD COLUMN
  ended TEXT /* why the walk over user frames ended: one word;
                NULL: lost, or recorded by schema 1 */;
