-- SPDX-License-Identifier: MIT
--
-- What processes and threads say of themselves in attributes: those of a
-- process, and the one that --shape-by tells counts apart by. Those of samples
-- have had their table (sample_attribute) from the first.

CREATE TABLE process_attribute (
  -- resource attributes of a process context; cut and capped
  process_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (process_id, key)
) WITHOUT ROWID;

CREATE TABLE shape_attribute (
  -- the values of an attribute that counts are told apart by
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  value TEXT                        -- NULL: all those that were refused: too
                                    -- many, or too long
);
CREATE UNIQUE INDEX shape_attribute_identity
  ON shape_attribute (key, ifnull('=' || value, ''));

CREATE TABLE stack_attribute_count (
  -- shape: how many of a count in stack_count had which value; exact. What is
  -- missing to the count had none
  interval_id INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  process_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,
  attribute_id INTEGER NOT NULL REFERENCES shape_attribute,
  count INTEGER NOT NULL,
  value INTEGER NOT NULL,           -- event.unit
  PRIMARY KEY (interval_id, event_id, process_id, stack_id, attribute_id)
) WITHOUT ROWID;

CREATE TABLE stack_attribute_total (
  -- sums of stack_attribute_count, kept in the same transaction
  event_id INTEGER NOT NULL,
  attribute_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,
  process_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (event_id, attribute_id, stack_id, process_id)
) WITHOUT ROWID;
