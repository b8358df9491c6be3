-- SPDX-License-Identifier: MIT
--
-- Measures: events that the kernel counts, adds up, or sorts into buckets, by
-- keys. What is exact is in metric_value and metric_bucket; metric_exemplar
-- has single events out of them.

CREATE TABLE metric (
  -- a measure of a recording
  id INTEGER PRIMARY KEY,
  recording_id INTEGER NOT NULL REFERENCES recording,
  name TEXT NOT NULL,
  text TEXT NOT NULL,               -- as it was asked for
  aggregate TEXT NOT NULL,          -- count, sum, avg, min, max, stats, hist,
                                    -- lhist
  value TEXT,                       -- what of each event; NULL: count
  unit TEXT NOT NULL,               -- of value: ns, bytes, or ''
  probe TEXT NOT NULL,
  keys INTEGER NOT NULL,            -- how many of key_1 to key_4 are in use
  key_1 TEXT, key_2 TEXT, key_3 TEXT, key_4 TEXT, -- what they are
  linear_min INTEGER,               -- edges of lhist's buckets, else NULL
  linear_max INTEGER,
  linear_step INTEGER,
  max_keys INTEGER NOT NULL         -- in an interval
);

CREATE TABLE metric_key (
  -- the keys that came; those not in use are ''
  id INTEGER PRIMARY KEY,
  metric_id INTEGER NOT NULL REFERENCES metric,
  key_1 NOT NULL, key_2 NOT NULL, key_3 NOT NULL, key_4 NOT NULL
);
CREATE UNIQUE INDEX metric_key_identity
  ON metric_key (metric_id, key_1, key_2, key_3, key_4);

CREATE TABLE metric_value (
  interval_id INTEGER NOT NULL,
  key_id INTEGER NOT NULL REFERENCES metric_key,
  count INTEGER NOT NULL,
  sum INTEGER,                      -- of 64 bits; NULL: count
  min INTEGER,                      -- NULL: not asked for
  max INTEGER,                      -- NULL: not asked for
  PRIMARY KEY (interval_id, key_id)
) WITHOUT ROWID;

CREATE TABLE metric_bucket (
  interval_id INTEGER NOT NULL,
  key_id INTEGER NOT NULL REFERENCES metric_key,
  bucket INTEGER NOT NULL,          -- 0: below all others. hist: 1 is [0], 2
                                    -- is [1], n is [2^(n-2), 2^(n-1)). lhist:
                                    -- n is the n-th step from linear_min on
  count INTEGER NOT NULL,
  PRIMARY KEY (interval_id, key_id, bucket)
) WITHOUT ROWID;

CREATE TABLE metric_interval (
  -- where the events of an interval ended. fired = counted + filtered +
  -- not_met + keys_full + lost_busy + unreadable + no_entry, and counted is
  -- the sum over metric_value, but for lost_discarded
  interval_id INTEGER NOT NULL,
  metric_id INTEGER NOT NULL REFERENCES metric,
  fired INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  filtered INTEGER NOT NULL,        -- of no target
  not_met INTEGER NOT NULL,         -- a condition did not hold
  keys_full INTEGER NOT NULL,       -- more than max_keys keys
  lost_busy INTEGER NOT NULL,       -- the kernel's table did not take it
  unreadable INTEGER NOT NULL,      -- a field could not be read
  entered INTEGER NOT NULL,         -- calls that began
  no_entry INTEGER NOT NULL,        -- returns of calls that began before
  no_return INTEGER NOT NULL,       -- calls of which no return was seen
  calls_full INTEGER NOT NULL,      -- calls that there was no room to follow
  missed INTEGER NOT NULL,          -- the kernel did not run our program
  lost_discarded INTEGER NOT NULL,  -- counted, but the batch had no room
  selected INTEGER NOT NULL,        -- chosen as examples
  lost_exemplars INTEGER NOT NULL,  -- chosen, but not stored
  PRIMARY KEY (interval_id, metric_id)
) WITHOUT ROWID;

CREATE TABLE metric_exemplar (
  -- an event of a bucket (0 where there are none)
  id INTEGER PRIMARY KEY,
  interval_id INTEGER NOT NULL,
  key_id INTEGER NOT NULL REFERENCES metric_key,
  bucket INTEGER NOT NULL,
  value INTEGER NOT NULL,           -- metric.unit
  time_ns INTEGER NOT NULL,         -- boot
  cpu INTEGER NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES thread,
  stack_id INTEGER NOT NULL REFERENCES stack,
  trace_id BLOB,                    -- 16 bytes; NULL: none active, or unknown
  span_id BLOB,                     -- 8 bytes
  context_source INTEGER NOT NULL,  -- context_source_word has the words
  context_status INTEGER NOT NULL   -- context_status_word has the words
);
CREATE INDEX metric_exemplar_key ON metric_exemplar (key_id, bucket);
