-- What a recording made by hand adds up to, as its writer would have kept it.
DELETE FROM ledger_sum;
INSERT INTO ledger_sum
SELECT event_id, entry_id, CAST(total(count) AS INTEGER),
       CAST(total(value) AS INTEGER), count(*) - count(count)
  FROM ledger_row GROUP BY event_id, entry_id;
UPDATE event SET cpu_ns = (
  SELECT CAST(total((i.end_ns - i.start_ns)
                    * (SELECT count(*) FROM cpu_interval c
                        WHERE c.interval_id = i.id AND c.event_id = event.id))
              AS INTEGER)
    FROM interval i WHERE i.recording_id = event.recording_id);
