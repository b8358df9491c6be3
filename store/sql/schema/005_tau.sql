-- SPDX-License-Identifier: MIT
--
-- Blocks and waits are chosen for detail by how long they are.

ALTER TABLE event ADD COLUMN
  tau_ns INTEGER /* a sample is chosen for detail with probability
                min(1, value / tau_ns); NULL: whatever its value */;
