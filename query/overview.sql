-- What `weft` alone says of a file.

-- name: overview_events
-- Of each event of recording ?1: its name, its unit, how often it counted, what
-- that adds up to.
SELECT e.name, e.unit, ifnull(sum(t.count), 0), ifnull(sum(t.value), 0)
FROM event e LEFT JOIN stack_total t ON t.event_id = e.id
WHERE e.recording_id = ?1 GROUP BY e.id ORDER BY e.id;

-- name: overview_processes
-- How many processes have samples of event ?1, and the names of the first.
SELECT p.comm, p.pid, g.count, g.processes
FROM (SELECT t.process_id, sum(t.count) AS count, count(*) OVER () AS processes
      FROM stack_total t WHERE t.event_id = ?1 GROUP BY t.process_id
      ORDER BY sum(t.count) DESC, t.process_id LIMIT 3) g
LEFT JOIN process p ON p.id = g.process_id
ORDER BY g.count DESC, g.process_id;

-- name: overview_requests
-- Of requests: how many have a sample, how many have none but spans, and the
-- ID of the one that used most, with those before and after it in their order.
SELECT (SELECT count(*) FROM trace WHERE samples > 0),
       (SELECT count(*) FROM trace WHERE samples = 0),
       most.hex,
       (SELECT hex FROM trace WHERE hex < most.hex
         ORDER BY hex DESC LIMIT 1),
       (SELECT hex FROM trace WHERE hex > most.hex
         ORDER BY hex LIMIT 1)
FROM (SELECT 1)
LEFT JOIN (SELECT hex FROM trace WHERE samples > 0
            ORDER BY value_sum DESC, id LIMIT 1) AS most;

-- name: overview_file
-- How many recordings it has, the last one's host, whether a frame of user code
-- has no name, whether there are spans, and the last recording.
SELECT (SELECT count(*) FROM recording),
       (SELECT host FROM recording ORDER BY id DESC LIMIT 1),
       (SELECT EXISTS (
          SELECT 1 FROM frame f JOIN binary b ON b.id = f.binary_id
           WHERE b.kind = 'elf' AND NOT EXISTS (
             SELECT 1 FROM frame_function n WHERE n.frame_id = f.id))),
       (SELECT EXISTS (SELECT 1 FROM span)),
       (SELECT max(id) FROM recording);

-- name: overview_measures
SELECT name FROM metric WHERE recording_id = ?1 ORDER BY id;
