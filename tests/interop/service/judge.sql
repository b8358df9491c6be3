-- SPDX-License-Identifier: MIT
-- Samples in the code of a route against what the client wrote down. The
-- client's times enclose the request's by the way to and fro; clocks are the
-- machine's own. (truth was imported before, joined is a view made before:
-- sample_id, trace_id; ROUTE is what tells the route of a sample.)
CREATE TEMP TABLE judged AS
SELECT s.sample_id, s.unix_ns, j.trace_id, t.route AS of_trace,
       t.start_ns, t.end_ns,
       ROUTE AS route
  FROM samples s
  LEFT JOIN joined j USING (sample_id)
  LEFT JOIN truth t ON t.trace_id = j.trace_id;
SELECT 'requests', count(*) FROM truth
UNION ALL SELECT 'spans', count(*) FROM span
UNION ALL SELECT 'spans_unknown', count(*) FROM span
  WHERE lower(hex((SELECT trace_id FROM trace WHERE id = span.trace)))
    NOT IN (SELECT trace_id FROM truth)
UNION ALL SELECT 'samples', count(*) FROM judged WHERE route IS NOT NULL
UNION ALL SELECT 'joined', count(*) FROM judged
  WHERE route IS NOT NULL AND trace_id IS NOT NULL
UNION ALL SELECT 'requests_joined', count(DISTINCT trace_id) FROM judged
  WHERE route IS NOT NULL
UNION ALL SELECT 'wrong_route', count(*) FROM judged
  WHERE route IS NOT NULL AND trace_id IS NOT NULL AND of_trace IS NOT route
UNION ALL SELECT 'wrong_time', count(*) FROM judged
  WHERE of_trace IS NOT NULL
    AND unix_ns NOT BETWEEN start_ns - 1000000 AND end_ns + 1000000
UNION ALL SELECT 'without_' || s.context_status, count(*)
  FROM judged JOIN samples s USING (sample_id)
  WHERE route IS NOT NULL AND judged.trace_id IS NULL GROUP BY 1
UNION ALL SELECT 'unknown_trace', count(*) FROM judged
  WHERE trace_id IS NOT NULL AND of_trace IS NULL;
