-- Where the time of a request went, of a recording that has it all. ?1 an
-- event of the recording, ?2 to ?3 intervals, ?5 the trace.

-- name: wall_parts
-- Of each kind of time: its name, how blocks were chosen (NULL: a timer), how
-- many samples, what they add up to; of those that were chosen by chance the
-- number, sum and sum of squares; the first begin and the last end, boot time.
SELECT e.name, e.tau_ns, ifnull(sum(s.n), 0), total(s.estimate * s.factor),
       ifnull(sum(s.chance), 0), total(s.chance_sum * s.factor),
       total(s.chance_sq * s.factor * s.factor), min(s.first_ns),
       max(s.last_ns)
FROM event e LEFT JOIN (
  SELECT g.*, ifnull((
    SELECT nullif(total(iif(entry = 'selected', count, 0)), 0)
           / nullif(total(iif(entry IN ('stored', 'expired'), count, 0)), 0)
      FROM ledger l
     WHERE l.interval_id = g.interval_id AND l.event_id = g.event_id
       AND entry IN ('selected', 'stored', 'expired')), 1) AS factor
  FROM (
    SELECT event_id, interval_id, count(*) AS n,
           sum(weight * value) AS estimate,
           sum(weight > 1) AS chance,
           total(iif(weight > 1, weight * value, 0)) AS chance_sum,
           total(iif(weight > 1, weight * value * weight * value, 0))
             AS chance_sq,
           min(time_ns - value) AS first_ns, max(time_ns) AS last_ns
    FROM sample
    WHERE trace = ?5 AND interval_id BETWEEN ?2 AND ?3
    GROUP BY event_id, interval_id) g) s ON s.event_id = e.id
WHERE e.recording_id = (SELECT recording_id FROM event WHERE id = ?1)
  AND e.unit = 'ns' AND e.name IN ('cpu-clock', 'on-cpu', 'run-queue', 'off-cpu')
GROUP BY e.id;

-- name: wall_ends
-- How much longer than the parts of its threads' runs say the request ran, in
-- ns. Such a part begins and ends where a look at the thread noticed, or with
-- the run; it is the root span that says when (?6 begin, ?7 end, Unix). It is
-- believed for two periods of the timer, but for a look that saw another request
-- there; for longer where all looks were stored, and none says otherwise. And
-- the run must have gone on there, for another: what another span of the request
-- had counts already. Its own parts are asked first: in a file that is not closed
-- each look for others' is long.
WITH part AS (
  SELECT s.thread_id, s.event_id, s.time_ns - s.value AS from_ns,
         s.time_ns AS until_ns, ?6 - i.clock_offset_ns AS begin_ns,
         ?7 - i.clock_offset_ns AS end_ns, t.id AS timer,
         r.detail_n = 1 AS has_all_looks, 2 * (
           SELECT max(c.period) FROM cpu_interval c
            WHERE c.interval_id = i.id AND c.event_id = t.id) AS near
  FROM sample s
  JOIN interval i ON i.id = s.interval_id
  JOIN event e ON e.id = s.event_id
  JOIN event t ON t.recording_id = e.recording_id AND t.name = 'cpu-clock'
  JOIN recording r ON r.id = e.recording_id
  WHERE s.trace = ?5 AND s.interval_id BETWEEN ?2 AND ?3
    AND e.name = 'on-cpu' AND s.weight = 1
    AND e.recording_id = (SELECT recording_id FROM event WHERE id = ?1))
SELECT ifnull((
  SELECT sum(from_ns - begin_ns) FROM part
   WHERE begin_ns < until_ns
     AND (begin_ns > from_ns OR NOT EXISTS (
       SELECT 1 FROM part own
        WHERE own.thread_id = part.thread_id
          AND own.until_ns > part.begin_ns AND own.until_ns <= part.from_ns)
       AND EXISTS (
       SELECT 1 FROM sample before
        WHERE before.time_ns = part.from_ns AND before.trace IS NOT ?5
          AND before.thread_id = part.thread_id
          AND before.event_id = part.event_id
          AND before.time_ns - before.value <= part.begin_ns))
     AND (abs(from_ns - begin_ns) <= near OR has_all_looks)
     AND NOT EXISTS (
       SELECT 1 FROM sample look
        WHERE look.time_ns BETWEEN min(from_ns, begin_ns)
                               AND max(from_ns, begin_ns)
          AND look.thread_id = part.thread_id AND look.event_id = part.timer
          AND (look.trace IS ?5) = (begin_ns > from_ns)
          AND (abs(from_ns - begin_ns) > near
               OR begin_ns < from_ns AND look.trace IS NOT NULL))), 0)
  + ifnull((
  SELECT sum(end_ns - until_ns) FROM part
   WHERE end_ns > from_ns
     AND (end_ns < until_ns OR NOT EXISTS (
       SELECT 1 FROM part own
        WHERE own.thread_id = part.thread_id
          AND own.from_ns < part.end_ns AND own.from_ns >= part.until_ns)
       AND EXISTS (
       SELECT 1 FROM sample after
        WHERE after.time_ns BETWEEN part.end_ns AND part.until_ns + 1000000000
          AND after.trace IS NOT ?5 AND after.thread_id = part.thread_id
          AND after.event_id = part.event_id
          AND after.time_ns - after.value = part.until_ns))
     AND (abs(end_ns - until_ns) <= near OR has_all_looks)
     AND NOT EXISTS (
       SELECT 1 FROM sample look
        WHERE look.time_ns BETWEEN min(until_ns, end_ns)
                               AND max(until_ns, end_ns)
          AND look.thread_id = part.thread_id AND look.event_id = part.timer
          AND (look.trace IS ?5) = (end_ns < until_ns)
          AND (abs(end_ns - until_ns) > near
               OR end_ns > until_ns AND look.trace IS NOT NULL))), 0);
