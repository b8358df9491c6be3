-- SPDX-License-Identifier: MIT
--
-- A JIT puts other code where some was before: that is another frame, for what
-- a frame is called stays.

ALTER TABLE frame ADD COLUMN
  version INTEGER NOT NULL DEFAULT 0 /* differs for different code at one
                address of a JIT; made of its name and place. 0: of what does
                not change, or was not in the perf map */;
DROP INDEX frame_identity;
CREATE UNIQUE INDEX frame_identity
  ON frame (binary_id, address, in_kernel, version);
