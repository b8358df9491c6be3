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
         s.time_ns AS until_ns, i.clock_offset_ns AS offset_ns, t.id AS timer,
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
    AND e.recording_id = (SELECT recording_id FROM event WHERE id = ?1)),
-- What there is between where a part is cut and where the span says: more_ns,
-- negative if it is the part's. A run that goes on there ends by last_ns.
edge AS (
  SELECT *, from_ns - said_ns AS more_ns, from_ns AS last_ns,
         min(from_ns, said_ns) AS low_ns, max(from_ns, said_ns) AS high_ns
    FROM (SELECT *, ?6 - offset_ns AS said_ns FROM part)
   WHERE said_ns < until_ns
  UNION ALL
  SELECT *, said_ns - until_ns, until_ns + 1000000000,
         min(until_ns, said_ns), max(until_ns, said_ns)
    FROM (SELECT *, ?7 - offset_ns AS said_ns FROM part)
   WHERE said_ns > from_ns)
SELECT ifnull(sum(more_ns), 0) FROM edge
 WHERE (abs(more_ns) <= near OR has_all_looks)
   AND (more_ns < 0 OR NOT EXISTS (
     SELECT 1 FROM part own
      WHERE own.thread_id = edge.thread_id
        AND own.from_ns < edge.high_ns AND own.until_ns > edge.low_ns)
     AND EXISTS (
     SELECT 1 FROM sample other
      WHERE other.time_ns BETWEEN edge.high_ns AND edge.last_ns
        AND other.trace IS NOT ?5 AND other.thread_id = edge.thread_id
        AND other.event_id = edge.event_id
        AND other.time_ns - other.value <= edge.low_ns))
   AND NOT EXISTS (
     SELECT 1 FROM sample look
      WHERE look.time_ns BETWEEN edge.low_ns AND edge.high_ns
        AND look.thread_id = edge.thread_id AND look.event_id = edge.timer
        AND (look.trace IS ?5) = (more_ns < 0)
        AND (abs(more_ns) > near OR more_ns > 0 AND look.trace IS NOT NULL));
