-- SPDX-License-Identifier: MIT
--
-- What a whole recording's ledger adds up to is asked by each report: kept, so
-- that the rows of weeks need not be read.

ALTER TABLE event ADD COLUMN
  cpu_ns INTEGER NOT NULL DEFAULT 0 /* time of its intervals times the CPUs
                that were sampled in each */;

CREATE TABLE ledger_sum (
  -- sums of ledger_row over all intervals
  event_id INTEGER NOT NULL REFERENCES event,
  entry_id INTEGER NOT NULL REFERENCES ledger_entry,
  count INTEGER NOT NULL,
  value INTEGER NOT NULL,           -- event.unit
  unmeasured INTEGER NOT NULL,      -- intervals that did not measure it
  PRIMARY KEY (event_id, entry_id)
) WITHOUT ROWID;

INSERT INTO ledger_sum
SELECT event_id, entry_id, CAST(total(count) AS INTEGER),
       CAST(total(value) AS INTEGER), count(*) - count(count)
  FROM ledger_row GROUP BY event_id, entry_id;

UPDATE event SET cpu_ns = c.ns
  FROM (SELECT n.event_id,
               CAST(total((i.end_ns - i.start_ns) * n.cpus) AS INTEGER) AS ns
          FROM (SELECT interval_id, event_id, count(*) AS cpus
                  FROM cpu_interval GROUP BY interval_id, event_id) n
          JOIN interval i ON i.id = n.interval_id
         GROUP BY n.event_id) c
 WHERE event.id = c.event_id;
