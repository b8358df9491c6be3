-- SPDX-License-Identifier: MIT
--
-- What can be computed from the tables, put into words. The writer drops and
-- creates these views; nothing is stored in them. They use only what every
-- SQLite since 3.38 has.
--
-- How a frame reads, everywhere:
--   name                its function; kernel functions end in _[k]
--   [file+0xoffset]     it has no name; in the kernel also with _[k]
--   [stack lost]        the whole stack: counted, but it found no room
--   [stack not taken]   the whole stack: of calls only some have theirs taken
--   [truncated]         stands for the callers beyond the depth limit
--   [broken]            stands for the callers that could not be found
-- In `folded` text `;` separates frames, root first, so within a name `;`
-- reads `:` and a newline reads `?`.
--
-- Counts and values of shape (from stack_count, stack_total) are exact. What
-- is summed over samples is an estimate: a sample's weight is 1 / probability,
-- so sum(weight) estimates a count and sum(weight * value) a value.
--
-- json_each() over a list made by group_concat() is how a view walks up the
-- tree and still lets a question about one stack seek it. Other functions of
-- JSON would not do, views that are not trusted may not call them; json_each()
-- fails where it is given no JSON.
--
-- Comments stand inside the statements so that `.schema` shows them.

DROP VIEW IF EXISTS frame_text;
CREATE VIEW frame_text AS
  -- the words for a frame: name = of its innermost function; folded = of all
  -- that were inlined there, outermost first. No path is longer than 4096 bytes,
  -- except in a file that was made to cost time
  SELECT
    frame_id, in_kernel, binary,
    ifnull((
      SELECT n.name
        FROM frame_function ff JOIN function n ON n.id = ff.function_id
       WHERE ff.frame_id = place.frame_id
       ORDER BY ff.inline_depth LIMIT 1), unnamed) || suffix AS name,
    ifnull((
      SELECT group_concat(replace(replace(named.name, ';', ':'),
                                  char(10), '?') || suffix, ';')
        FROM (SELECT n.name
                FROM frame_function ff JOIN function n ON n.id = ff.function_id
               WHERE ff.frame_id = place.frame_id
               ORDER BY ff.inline_depth DESC) named),
      replace(replace(unnamed, ';', ':'), char(10), '?') || suffix) AS folded
  FROM (
    SELECT
      f.id AS frame_id, f.in_kernel, b.path AS binary,
      '[' || ifnull(nullif(trim(substr(b.tail, 1 + length(
        rtrim(b.tail, replace(b.tail, '/', '')))), '[]'), ''), b.kind)
        || printf('+0x%x]', f.address) AS unnamed,
      iif(f.in_kernel, '_[k]', '') AS suffix
    FROM frame f
    JOIN (SELECT id, path, kind, substr(path, -4096) AS tail FROM binary) b
      ON b.id = f.binary_id) place;

DROP VIEW IF EXISTS stack_frame;
CREATE VIEW stack_frame AS
  -- the frames of a stack, unfolded from the tree; position 0 = leaf. No stack
  -- has more than 1024, whatever a file says
  SELECT s.id AS stack_id, up.key AS position, up.value AS frame_id
  FROM stack s, json_each((
    WITH RECURSIVE caller(parent_id, frame_id, height) AS (
      SELECT parent_id, frame_id, 1
        FROM stack_node WHERE id = s.id AND s.depth > 0
      UNION ALL
      SELECT n.parent_id, n.frame_id, c.height + 1
        FROM caller c JOIN stack_node n ON n.id = c.parent_id
       WHERE c.height < min(s.depth, 1024))
    SELECT '[' || ifnull(group_concat(frame_id), '') || ']' FROM caller)) up;

DROP VIEW IF EXISTS stack_function;
CREATE VIEW stack_function AS
  -- the functions on a stack, inlined ones too, each once however often it
  -- recurs; is_self: it was the innermost of the leaf
  SELECT
    s.id AS stack_id,
    iif(((once.value >> 1) & 32767) = 0, f.name, (
      SELECT n.name || iif(f.in_kernel, '_[k]', '')
        FROM frame_function ff JOIN function n ON n.id = ff.function_id
       WHERE ff.frame_id = f.frame_id
         AND ff.inline_depth = ((once.value >> 1) & 32767))) AS function,
    f.binary, f.in_kernel,
    once.value & 1 AS is_self
  FROM stack s, json_each((
    -- frame, inline depth and is_self, packed into one number
    SELECT '[' || ifnull(group_concat(
      (frame_id << 16) | (inline_depth << 1) | is_self), '') || ']'
    FROM (
      SELECT
        p.id AS frame_id,
        ifnull(ff.inline_depth, 0) AS inline_depth,
        max(up.position = 0 AND ifnull(ff.inline_depth, 0) = 0) AS is_self
      FROM stack_frame up
      JOIN frame p ON p.id = up.frame_id
      JOIN binary b ON b.id = p.binary_id
      LEFT JOIN frame_function ff ON ff.frame_id = p.id
      LEFT JOIN function n ON n.id = ff.function_id
      WHERE up.stack_id = s.id
      GROUP BY ifnull(n.name, p.id), b.path, p.in_kernel))) once
  JOIN frame_text f ON f.frame_id = once.value >> 16;

DROP VIEW IF EXISTS stack_text;
CREATE VIEW stack_text AS
  -- a stack as one line of text
  SELECT
    s.id AS stack_id,
    CASE
      WHEN s.status = 'lost' THEN '[stack lost]'
      WHEN s.status = 'not_taken' THEN '[stack not taken]'
      WHEN s.depth = 0 THEN '[no frames]'
      ELSE iif(s.status IN ('truncated', 'broken'),
               '[' || s.status || '];', '') || (
        WITH RECURSIVE caller(parent_id, folded, height) AS (
          SELECT parent_id, (SELECT f.folded FROM frame_text f
                              WHERE f.frame_id = stack_node.frame_id), 1
            FROM stack_node WHERE id = s.id
          UNION ALL
          SELECT n.parent_id, (SELECT f.folded FROM frame_text f
                                WHERE f.frame_id = n.frame_id)
                              || ';' || c.folded, c.height + 1
            FROM caller c JOIN stack_node n ON n.id = c.parent_id
           WHERE c.height < min(s.depth, 1024))
        SELECT folded FROM caller WHERE height = min(s.depth, 1024))
    END AS folded
  FROM stack s;

DROP VIEW IF EXISTS samples;
CREATE VIEW samples AS
  -- every detail sample with what is known of it
  SELECT
    s.id AS sample_id,
    s.time_ns + i.clock_offset_ns AS unix_ns,
    s.time_ns,                      -- boot; ranges of it seek an index
    e.name AS event,
    e.unit,                         -- of value
    s.cpu,
    p.id AS process_id,
    p.pid,
    th.tid,
    p.comm,
    th.comm AS thread_comm,
    p.exe,
    p.service,
    p.cgroup,
    t.hex AS trace_id,              -- lower-case hex; equality seeks an index
    nullif(lower(hex(s.span_id)), '') AS span_id,
    s.trace_flags,
    so.word AS context_source,
    st.word AS context_status,
    s.weight,                       -- counted samples that it stands for
    s.value,
    s.stack_id,                     -- equality seeks an index
    k.status AS stack_status,
    CASE
      WHEN k.status = 'lost' THEN '[stack lost]'
      WHEN k.status = 'not_taken' THEN '[stack not taken]'
      WHEN k.depth = 0 THEN '[no frames]'
      ELSE (SELECT f.name FROM frame_text f
             WHERE f.frame_id = (SELECT n.frame_id FROM stack_node n
                                  WHERE n.id = s.stack_id))
    END AS leaf,
    (SELECT x.folded FROM stack_text x WHERE x.stack_id = s.stack_id) AS folded
  FROM sample s
  LEFT JOIN trace t ON t.id = s.trace
  LEFT JOIN interval i ON i.id = s.interval_id
  LEFT JOIN event e ON e.id = s.event_id
  LEFT JOIN thread th ON th.id = s.thread_id
  LEFT JOIN process p ON p.id = th.process_id
  LEFT JOIN stack k ON k.id = s.stack_id
  LEFT JOIN context_source_word so ON so.id = s.context_source
  LEFT JOIN context_status_word st ON st.id = s.context_status;

DROP VIEW IF EXISTS hot_stacks;
CREATE VIEW hot_stacks AS
  -- stacks by count, most first, exact; share is of the event's count
  SELECT
    h.recording_id, h.event_id, h.event, h.unit, h.stack_id,
    h.count, h.value, h.share,
    (SELECT x.folded FROM stack_text x WHERE x.stack_id = h.stack_id) AS folded
  FROM (
    SELECT
      e.recording_id, t.event_id, e.name AS event, e.unit, t.stack_id,
      sum(t.count) AS count, sum(t.value) AS value,
      sum(t.count) * 1.0 / everything.count AS share
    FROM stack_total t
    JOIN event e ON e.id = t.event_id
    JOIN (SELECT event_id, sum(count) AS count
            FROM stack_total GROUP BY event_id) everything
      ON everything.event_id = t.event_id
    GROUP BY t.event_id, t.stack_id
    ORDER BY t.event_id, sum(t.count) DESC, t.stack_id) h;

DROP VIEW IF EXISTS hot_functions;
CREATE VIEW hot_functions AS
  -- functions by self count, most first, exact. self: it was the innermost;
  -- total: it was anywhere on the stack. Shares are of the event's count
  WITH hot AS MATERIALIZED (
    SELECT event_id, stack_id, sum(count) AS count, sum(value) AS value
      FROM stack_total GROUP BY event_id, stack_id)
  SELECT
    e.recording_id, e.id AS event_id, e.name AS event, e.unit,
    f.function, f.binary, f.in_kernel,
    sum(iif(f.is_self, h.count, 0)) AS self,
    sum(h.count) AS total,
    sum(iif(f.is_self, h.value, 0)) AS self_value,
    sum(h.value) AS total_value,
    sum(iif(f.is_self, h.count, 0)) * 1.0 / everything.count AS self_share,
    sum(h.count) * 1.0 / everything.count AS total_share
  FROM hot h
  JOIN stack_function f USING (stack_id)
  JOIN event e ON e.id = h.event_id
  JOIN (SELECT event_id, sum(count) AS count FROM hot GROUP BY event_id)
    everything ON everything.event_id = h.event_id
  GROUP BY e.id, f.function, f.binary
  ORDER BY e.id, self DESC, total DESC, f.function, f.binary;

DROP VIEW IF EXISTS stack_ends;
CREATE VIEW stack_ends AS
  -- how whole the stacks of each process are: its samples by status and by
  -- why the walk over user frames ended, exact
  SELECT
    t.process_id, p.pid, p.comm, t.event_id, k.status, k.ended,
    sum(t.count) AS count, sum(t.value) AS value
  FROM stack_total t
  JOIN stack k ON k.id = t.stack_id
  LEFT JOIN process p ON p.id = t.process_id
  GROUP BY t.event_id, t.process_id, k.status, k.ended;

DROP VIEW IF EXISTS trace_stacks;
CREATE VIEW trace_stacks AS
  -- which stacks a trace was on; equality of trace_id seeks an index
  SELECT
    g.trace_id, g.event, g.unit, g.stack_id, g.samples,
    g.count,                        -- estimate
    g.value,                        -- estimate
    (SELECT x.folded FROM stack_text x WHERE x.stack_id = g.stack_id) AS folded
  FROM (
    SELECT t.hex AS trace_id, e.name AS event, e.unit, s.stack_id,
           count(*) AS samples, sum(s.weight) AS count,
           sum(s.weight * s.value) AS value
    FROM trace t
    JOIN sample s ON s.trace = t.id
    JOIN event e ON e.id = s.event_id
    GROUP BY t.hex, s.event_id, s.stack_id) g;

DROP VIEW IF EXISTS stack_traces;
CREATE VIEW stack_traces AS
  -- which traces were on a stack; equality of stack_id seeks an index
  SELECT s.stack_id, t.hex AS trace_id, e.name AS event, e.unit,
         count(*) AS samples, sum(s.weight) AS count,
         sum(s.weight * s.value) AS value,
         min(s.time_ns) AS first_ns, max(s.time_ns) AS last_ns
  FROM sample s
  JOIN trace t ON t.id = s.trace
  JOIN event e ON e.id = s.event_id
  GROUP BY s.stack_id, t.hex, s.event_id;

DROP VIEW IF EXISTS trace_profile;
CREATE VIEW trace_profile AS
  -- which functions a trace was in; equality of trace_id seeks an index.
  -- All but the counts of samples are estimates
  SELECT
    t.hex AS trace_id, e.name AS event, e.unit,
    f.function, f.binary, f.in_kernel,
    sum(f.is_self) AS self_samples,
    count(*) AS total_samples,
    sum(iif(f.is_self, s.weight, 0.0)) AS self,
    sum(s.weight) AS total,
    sum(iif(f.is_self, s.weight * s.value, 0.0)) AS self_value,
    sum(s.weight * s.value) AS total_value
  FROM trace t
  JOIN sample s ON s.trace = t.id
  JOIN event e ON e.id = s.event_id
  JOIN stack_function f ON f.stack_id = s.stack_id
  GROUP BY t.hex, s.event_id, f.function, f.binary;

DROP VIEW IF EXISTS sample_order;
CREATE VIEW sample_order AS
  -- each sample after the one before it, of the same event on the same thread
  SELECT
    sample_id, previous_sample_id, event_id, thread_id, time_ns,
    time_ns - previous_ns AS gap_ns,
    stack_id, stack_id IS NOT previous_stack AS stack_changed,
    trace, trace IS NOT previous_trace AS trace_changed, previous_trace
  FROM (
    SELECT
      id AS sample_id, event_id, thread_id, time_ns, stack_id, trace,
      lag(id) OVER thread AS previous_sample_id,
      lag(time_ns) OVER thread AS previous_ns,
      lag(stack_id) OVER thread AS previous_stack,
      lag(trace) OVER thread AS previous_trace
    FROM sample
    WINDOW thread AS (PARTITION BY thread_id, event_id ORDER BY time_ns, id));

DROP VIEW IF EXISTS trace_switches;
CREATE VIEW trace_switches AS
  -- where a thread went on from one request to another, or to or from none
  -- (NULL): between two samples of an event that follow each other on it
  SELECT
    o.thread_id, o.event_id, o.time_ns - o.gap_ns AS after_ns,
    o.time_ns AS before_ns,         -- both boot
    (SELECT hex FROM trace WHERE id = o.previous_trace) AS from_trace_id,
    (SELECT hex FROM trace WHERE id = o.trace) AS to_trace_id,
    o.previous_sample_id, o.sample_id
  FROM sample_order o
  WHERE o.trace_changed AND o.previous_sample_id IS NOT NULL;

DROP VIEW IF EXISTS ledger;
CREATE VIEW ledger AS
  -- where every firing and every choice ended; count NULL: not measured
  SELECT r.interval_id, r.event_id, n.name AS entry, r.count, r.value
  FROM ledger_row r JOIN ledger_entry n ON n.id = r.entry_id;

DROP VIEW IF EXISTS ledger_total;
CREATE VIEW ledger_total AS
  -- sums of ledger; NULL: no interval measured it. measured: intervals that
  -- did, of all intervals
  SELECT
    e.recording_id, r.event_id, e.name AS event, n.name AS entry,
    sum(r.count) AS count, sum(r.value) AS value,
    count(r.count) AS measured, count(*) AS intervals
  FROM ledger_row r
  JOIN ledger_entry n ON n.id = r.entry_id
  JOIN event e ON e.id = r.event_id
  GROUP BY r.event_id, r.entry_id
  ORDER BY r.event_id, r.entry_id;

DROP VIEW IF EXISTS requests;
CREATE VIEW requests AS
  -- one row per trace, those without a sample too: what its root span says,
  -- and what its samples say of its CPU time, an estimate with the limits of
  -- a 95 % interval. Root: called by no span that was sent; of several, the
  -- one without a parent, then the earliest. Equality of trace_id seeks an
  -- index
  SELECT
    q.trace_id, root.service, root.name, root.kind, root.status,
    root.start_ns,                  -- Unix
    root.end_ns - root.start_ns AS duration_ns,
    (SELECT count(*) FROM span c WHERE c.trace = q.trace) AS spans,
    q.samples, q.cpu_ns,
    -- Wilson and Hilferty's limits of a Poisson mean. Not every SQLite has
    -- sqrt(): Newton's steps find it
    q.ns_each * iif(q.samples = 0, 0, (
      WITH RECURSIVE newton(root, step) AS (
        SELECT q.samples * 1.0, 0
        UNION ALL
        SELECT (root + q.samples / root) / 2, step + 1
          FROM newton WHERE step < 32)
      SELECT q.samples * cube.x * cube.x * cube.x
        FROM (SELECT max(0, 1 - 1 / (9.0 * q.samples)
                            - 1.959963984540054 / (3 * root)) AS x
                FROM newton WHERE step = 32) cube)) AS cpu_low_ns,
    q.ns_each * (
      WITH RECURSIVE newton(root, step) AS (
        SELECT q.samples + 1.0, 0
        UNION ALL
        SELECT (root + (q.samples + 1) / root) / 2, step + 1
          FROM newton WHERE step < 32)
      SELECT (q.samples + 1) * cube.x * cube.x * cube.x
        FROM (SELECT 1 - 1 / (9.0 * (q.samples + 1))
                     + 1.959963984540054 / (3 * root) AS x
                FROM newton WHERE step = 32) cube) AS cpu_high_ns,
    q.cpu_ns / nullif(root.end_ns - root.start_ns, 0) AS cpu_share
  FROM (
    SELECT t.id AS trace, t.hex AS trace_id, t.samples, t.value_sum AS cpu_ns,
           ifnull(t.value_sum / nullif(t.samples, 0), (
             SELECT r.detail_n * 1e9 / e.requested_hz
               FROM event e JOIN recording r ON r.id = e.recording_id
              WHERE e.requested_hz > 0 ORDER BY e.id LIMIT 1)) AS ns_each
    FROM trace t) q
  LEFT JOIN span root ON root.trace = q.trace AND root.span_id = (
    SELECT s.span_id FROM span s
     WHERE s.trace = q.trace
       AND NOT EXISTS (SELECT 1 FROM span p
                        WHERE p.trace = s.trace
                          AND p.span_id = s.parent_span_id)
     ORDER BY s.parent_span_id IS NOT NULL, s.start_ns, s.span_id LIMIT 1);

DROP VIEW IF EXISTS requests_by_route;
CREATE VIEW requests_by_route AS
  -- requests pooled by service and http.route: many short ones that hardly
  -- have a sample each. requests counts all that have spans; cpu_ns is an
  -- estimate of their sum
  SELECT
    r.service, q.route, count(*) AS requests,
    sum(r.samples > 0) AS with_samples,
    sum(r.samples) AS samples,
    sum(r.cpu_ns) AS cpu_ns,
    sum(r.cpu_ns) / count(*) AS mean_cpu_ns,
    avg(r.duration_ns) AS mean_duration_ns,
    max(r.duration_ns) AS max_duration_ns,
    sum(r.status = 'error') AS errors
  FROM (
    SELECT t.hex AS trace_id, (
      SELECT j.value FROM span s, json_each(
        iif(s.attributes GLOB '{*}', s.attributes, NULL)) j
       WHERE s.trace = t.id AND j.key = 'http.route' AND j.value IS NOT NULL
       ORDER BY s.start_ns, s.span_id, j.id LIMIT 1) AS route
    FROM trace t
    WHERE EXISTS (SELECT 1 FROM span s WHERE s.trace = t.id)) q
  JOIN requests r ON r.trace_id = q.trace_id
  GROUP BY r.service, q.route
  ORDER BY sum(r.cpu_ns) DESC;

DROP VIEW IF EXISTS span_samples;
CREATE VIEW span_samples AS
  -- which span each sample of a request was taken in: that of the span ID
  -- that it carries (by span_id); where that was not sent, the span of its
  -- trace that was open at its time and started last (by time). Equality of
  -- trace_id seeks an index
  SELECT
    x.trace_id, lower(hex(p.span_id)) AS span_id, p.service, p.name,
    iif(p.span_id = x.carried, 'span_id', 'time') AS joined_by,
    (SELECT e.name FROM event e WHERE e.id = x.event_id) AS event,
    x.sample_id, x.time_ns, x.unix_ns, x.stack_id, x.weight, x.value
  FROM (
    SELECT t.id AS trace, t.hex AS trace_id, s.id AS sample_id, s.time_ns,
           s.time_ns + i.clock_offset_ns AS unix_ns, s.span_id AS carried,
           s.stack_id, s.weight, s.value, s.event_id
    FROM trace t
    JOIN sample s ON s.trace = t.id
    JOIN interval i ON i.id = s.interval_id) x
  JOIN span p ON p.trace = x.trace AND p.span_id = ifnull(
    (SELECT own.span_id FROM span own
      WHERE own.trace = x.trace AND own.span_id = x.carried),
    (SELECT o.span_id FROM span o
      WHERE o.trace = x.trace AND o.start_ns <= x.unix_ns
        AND o.end_ns >= x.unix_ns
      ORDER BY o.start_ns DESC, o.span_id LIMIT 1));

DROP VIEW IF EXISTS span_process;
CREATE VIEW span_process AS
  -- the process that a span was of, as its resource says: process.pid is its
  -- number, in the initial pid namespace (then host.name, if told, is the
  -- recording's) or in its own (then container.id, if told, is in its
  -- cgroup). Two processes that could be meant are none. thread_id: of
  -- thread.id, where the process has such a thread; NULL: not told
  WITH told AS MATERIALIZED (
    SELECT s.trace, s.span_id, s.start_ns, s.end_ns,
           max(iif(j.key = 'process.pid', CAST(j.value AS INTEGER), NULL))
             AS pid,
           max(iif(j.key = 'thread.id', CAST(j.value AS INTEGER), NULL))
             AS tid,
           max(iif(j.key = 'host.name', j.value, NULL)) AS host,
           max(iif(j.key = 'container.id', j.value, NULL)) AS container
      FROM span s, json_each(
             iif(s.attributes GLOB '{*}', s.attributes, NULL)) j
     WHERE j.key IN ('process.pid', 'thread.id', 'host.name', 'container.id')
       AND s.end_ns >= s.start_ns
     GROUP BY s.trace, s.span_id),
  fits AS MATERIALIZED (
    SELECT r.pid AS told_pid, r.host, r.container, p.id AS process_id, p.pid
      FROM (SELECT DISTINCT pid, host, container FROM told
             WHERE pid IS NOT NULL) r
      JOIN process p
        ON iif(ifnull(p.inner_pid, p.pid) = p.pid,
               p.pid = r.pid AND (r.host IS NULL OR r.host = (
                 SELECT host FROM recording WHERE id = p.recording_id)),
               p.inner_pid = r.pid AND (r.container IS NULL
                 OR instr(p.cgroup, r.container) > 0)))
  SELECT t.trace, t.span_id, t.start_ns, t.end_ns, f.process_id,
         (SELECT max(th.id) FROM thread th
           WHERE th.process_id = f.process_id AND th.tid = t.tid) AS thread_id
  FROM told t
  JOIN fits f ON f.told_pid = t.pid AND f.host IS t.host
             AND f.container IS t.container
  WHERE NOT EXISTS (
    SELECT 1 FROM fits o
     WHERE o.told_pid = t.pid AND o.host IS t.host
       AND o.container IS t.container AND o.pid <> f.pid);

DROP VIEW IF EXISTS samples_by_time;
CREATE VIEW samples_by_time AS
  -- samples of processes that tell no trace IDs at all, but whose spans say
  -- whose they are (span_process): which request each was in, if that is
  -- certain. outcome:
  --   joined      one request was active, and a span of it open
  --   ambiguous   several requests were active: nobody knows which it was
  --   between     none was
  --   clock       the clock was set: in that interval, or so that its Unix
  --               times came twice, or while the request ran
  -- A request is active in a process from the first start to the last end of
  -- its spans there; on a thread, if they say which, else on each. A request
  -- whose spans were not sent is not seen, so this is weaker than an ID
  WITH reach AS MATERIALIZED (
    -- what each interval covers of Unix time; error_ns: of no use where that
    -- is covered by others, too
    SELECT id, moved, from_ns, until_ns,
           iif(max(until_ns) OVER (along ROWS BETWEEN UNBOUNDED PRECEDING
                                   AND 1 PRECEDING) > from_ns + 1000000
               OR min(from_ns) OVER (along ROWS BETWEEN 1 FOLLOWING
                                     AND UNBOUNDED FOLLOWING)
                  < until_ns - 1000000, 1000001, error_ns) AS error_ns
      FROM (
        SELECT id, recording_id, start_ns, clock_error_ns AS error_ns,
               start_ns + clock_offset_ns AS from_ns,
               end_ns + clock_offset_ns AS until_ns,
               clock_offset_ns - lag(clock_offset_ns) OVER (
                 PARTITION BY recording_id ORDER BY start_ns) AS moved
          FROM interval)
    WINDOW along AS (PARTITION BY recording_id ORDER BY start_ns)),
  candidate AS MATERIALIZED (
    SELECT DISTINCT process_id FROM span_process),
  silent AS MATERIALIZED (
    SELECT c.process_id FROM candidate c
     WHERE NOT EXISTS (
       SELECT 1 FROM sample s CROSS JOIN thread th ON th.id = s.thread_id
        WHERE s.trace IS NOT NULL AND th.process_id = c.process_id)),
  own AS MATERIALIZED (
    SELECT * FROM span_process
     WHERE process_id IN (SELECT process_id FROM silent)),
  lane AS MATERIALIZED (
    -- threads that spans name, and (0) all others together
    SELECT process_id, thread_id FROM own WHERE thread_id IS NOT NULL
    UNION SELECT process_id, 0 FROM silent),
  active AS MATERIALIZED (
    SELECT l.process_id, l.thread_id, o.trace,
           min(o.start_ns) AS start_ns, max(o.end_ns) AS end_ns
      FROM own o JOIN lane l
        ON l.process_id = o.process_id
       AND (o.thread_id IS NULL OR o.thread_id = l.thread_id)
     GROUP BY l.process_id, l.thread_id, o.trace),
  astride AS MATERIALIZED (
    -- requests that may have run while the clock was put forward: from before
    -- the end of that interval, by the old clock, to after its start, by the
    -- new one
    SELECT DISTINCT a.process_id, a.trace
      FROM reach r JOIN active a ON a.start_ns < r.until_ns - r.moved
                                AND a.end_ns > r.from_ns
     WHERE r.moved > 1000000),
  -- Starts, samples and ends in the order of time: at a sample, so many
  -- requests have started and not ended; if it is one, the sum is its trace
  moment AS (
    SELECT process_id, thread_id, start_ns AS unix_ns, 0 AS kind, 1 AS delta,
           trace, NULL AS sample_id, NULL AS error_ns
      FROM active
    UNION ALL
    SELECT process_id, thread_id, end_ns, 2, -1, -trace, NULL, NULL
      FROM active
    UNION ALL
    SELECT th.process_id, ifnull((
             SELECT l.thread_id FROM lane l
              WHERE l.process_id = th.process_id AND l.thread_id = th.id), 0),
           s.time_ns + i.clock_offset_ns, 1, 0, 0, s.id, r.error_ns
      FROM sample s
      JOIN thread th ON th.id = s.thread_id
      JOIN interval i ON i.id = s.interval_id
      JOIN reach r ON r.id = s.interval_id
     WHERE EXISTS (SELECT 1 FROM silent)
       AND th.process_id IN (SELECT process_id FROM silent)),
  placed AS (
    SELECT sample_id, process_id, thread_id, unix_ns, error_ns,
           sum(delta) OVER along AS requests, sum(trace) OVER along AS trace
      FROM moment
    WINDOW along AS (PARTITION BY process_id, thread_id
                     ORDER BY unix_ns, kind ROWS UNBOUNDED PRECEDING)),
  found AS (
    SELECT p.*, p.error_ns > 1000000 OR (
             p.requests = 1 AND EXISTS (
               SELECT 1 FROM astride a WHERE a.process_id = p.process_id
                                         AND a.trace = p.trace)) AS is_unsure,
           iif(p.requests = 1 AND p.error_ns <= 1000000, (
             SELECT o.span_id FROM own o
              WHERE o.process_id = p.process_id AND o.trace = p.trace
                AND (o.thread_id IS NULL OR o.thread_id = p.thread_id)
                AND o.start_ns <= p.unix_ns - p.error_ns
                AND o.end_ns >= p.unix_ns + p.error_ns
              ORDER BY o.start_ns DESC, o.span_id LIMIT 1), NULL) AS span_id
      FROM placed p WHERE p.sample_id IS NOT NULL)
  SELECT
    f.sample_id, f.process_id, f.unix_ns,
    CASE
      WHEN f.is_unsure THEN 'clock'
      WHEN f.requests > 1 THEN 'ambiguous'
      WHEN f.span_id IS NULL THEN 'between'
      ELSE 'joined'
    END AS outcome,
    f.requests,                     -- active at that time
    iif(f.span_id IS NULL OR f.is_unsure, NULL, f.trace) AS trace,
    iif(f.span_id IS NULL OR f.is_unsure, NULL, (
      SELECT hex FROM trace t WHERE t.id = f.trace)) AS trace_id,
    iif(f.span_id IS NULL OR f.is_unsure, NULL,
        lower(hex(f.span_id))) AS span_id
  FROM found f;

DROP VIEW IF EXISTS time_join;
CREATE VIEW time_join AS
  -- how joining by time ended, by process
  SELECT b.process_id, p.pid, p.comm, b.outcome, count(*) AS samples,
         sum(s.weight * s.value) AS value
  FROM samples_by_time b
  JOIN sample s ON s.id = b.sample_id
  JOIN process p ON p.id = b.process_id
  GROUP BY b.process_id, b.outcome;

DROP VIEW IF EXISTS metric_total;
CREATE VIEW metric_total AS
  -- what each key of a measure had in all, exact; keys not in use are ''
  SELECT
    m.recording_id, m.name, m.aggregate, m.unit,
    k.key_1, k.key_2, k.key_3, k.key_4,
    sum(v.count) AS count, sum(v.sum) AS sum,
    total(v.sum) / sum(v.count) AS avg,
    min(v.min) AS min, max(v.max) AS max, k.id AS key_id
  FROM metric m
  JOIN metric_key k ON k.metric_id = m.id
  JOIN metric_value v ON v.key_id = k.id
  GROUP BY k.id;

DROP VIEW IF EXISTS metric_histogram;
CREATE VIEW metric_histogram AS
  -- the buckets of each key, exact: count values were at least lo and below
  -- hi; NULL: no such limit
  SELECT
    recording_id, name, unit, key_1, key_2, key_3, key_4, bucket,
    CASE
      WHEN bucket = 0 THEN NULL
      WHEN step IS NOT NULL THEN min(least + (bucket - 1) * step, greatest)
      WHEN bucket <= 2 THEN bucket - 1
      WHEN bucket <= 64 THEN 1 << (bucket - 2)
    END AS lo,
    CASE
      WHEN step IS NOT NULL AND bucket = 0 THEN least
      WHEN step IS NOT NULL AND least + (bucket - 1) * step >= greatest
        THEN NULL
      WHEN step IS NOT NULL THEN min(least + bucket * step, greatest)
      WHEN bucket <= 2 THEN bucket
      WHEN bucket <= 63 THEN 1 << (bucket - 1)
    END AS hi,
    count, key_id
  FROM (
    SELECT m.recording_id, m.name, m.unit, k.key_1, k.key_2, k.key_3, k.key_4,
           b.bucket, m.linear_min AS least, m.linear_max AS greatest,
           m.linear_step AS step, sum(b.count) AS count, k.id AS key_id
    FROM metric m
    JOIN metric_key k ON k.metric_id = m.id
    JOIN metric_bucket b ON b.key_id = k.id
    GROUP BY k.id, b.bucket);

DROP VIEW IF EXISTS metric_examples;
CREATE VIEW metric_examples AS
  -- single events out of the buckets of measures (record --examples): who, when,
  -- for which request, and where. lo and hi as in metric_histogram; NULL where
  -- the measure has no buckets
  SELECT
    x.id AS exemplar_id, m.recording_id, m.name, m.unit,
    k.key_1, k.key_2, k.key_3, k.key_4, x.bucket,
    CASE
      WHEN m.aggregate NOT IN ('hist', 'lhist') OR bucket = 0 THEN NULL
      WHEN linear_step IS NOT NULL
        THEN min(linear_min + (bucket - 1) * linear_step, linear_max)
      WHEN bucket <= 2 THEN bucket - 1
      WHEN bucket <= 64 THEN 1 << (bucket - 2)
    END AS lo,
    CASE
      WHEN m.aggregate NOT IN ('hist', 'lhist') THEN NULL
      WHEN linear_step IS NOT NULL AND bucket = 0 THEN linear_min
      WHEN linear_step IS NOT NULL
        AND linear_min + (bucket - 1) * linear_step >= linear_max THEN NULL
      WHEN linear_step IS NOT NULL
        THEN min(linear_min + bucket * linear_step, linear_max)
      WHEN bucket <= 2 THEN bucket
      WHEN bucket <= 63 THEN 1 << (bucket - 1)
    END AS hi,
    x.value, x.time_ns + i.clock_offset_ns AS unix_ns, x.time_ns, x.cpu,
    th.process_id, p.pid, th.tid, p.comm, th.comm AS thread_comm, p.service,
    nullif(lower(hex(x.trace_id)), '') AS trace_id,
    nullif(lower(hex(x.span_id)), '') AS span_id,
    so.word AS context_source, st.word AS context_status,
    x.stack_id,
    (SELECT t.folded FROM stack_text t WHERE t.stack_id = x.stack_id) AS folded,
    x.key_id, x.interval_id
  FROM metric_exemplar x
  JOIN metric_key k ON k.id = x.key_id
  JOIN metric m ON m.id = k.metric_id
  LEFT JOIN interval i ON i.id = x.interval_id
  LEFT JOIN thread th ON th.id = x.thread_id
  LEFT JOIN process p ON p.id = th.process_id
  LEFT JOIN context_source_word so ON so.id = x.context_source
  LEFT JOIN context_status_word st ON st.id = x.context_status;

DROP VIEW IF EXISTS metric_loss;
CREATE VIEW metric_loss AS
  -- where the events of each measure ended; table metric_interval says what
  -- the columns are
  SELECT
    m.recording_id, m.name,
    sum(i.fired) AS fired, sum(i.counted) AS counted,
    sum(i.filtered) AS filtered, sum(i.not_met) AS not_met,
    sum(i.keys_full) AS keys_full, sum(i.lost_busy) AS lost_busy,
    sum(i.unreadable) AS unreadable, sum(i.entered) AS entered,
    sum(i.no_entry) AS no_entry, sum(i.no_return) AS no_return,
    sum(i.calls_full) AS calls_full, sum(i.missed) AS missed,
    sum(i.lost_discarded) AS lost_discarded,
    sum(i.selected) AS selected, sum(i.lost_exemplars) AS lost_exemplars,
    sum(i.expired) AS expired,
    sum(i.expired_exemplars) AS expired_exemplars
  FROM metric m JOIN metric_interval i ON i.metric_id = m.id
  GROUP BY m.id;
