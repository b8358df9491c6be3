-- Spans for small.sql: of two of its requests, of one that has no sample, and
-- of one from long before. Boot time 5 s is 1700000000 Unix.

INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum, first_ns,
                   last_ns)
VALUES
  (101, x'cccccccccccccccccccccccccccccccc', 0, 0, 0, 9223372036854775807, 0),
  (102, x'dddddddddddddddddddddddddddddddd', 0, 0, 0, 9223372036854775807, 0);

WITH s(hex, id, parent, service, name, kind, start_ms, end_ms, status,
       attributes) AS (VALUES
  ('0af7651916cd43dd8448eb211c80319c', x'1111111111111111', NULL, 'shop',
   'GET /cart', 'server', 0, 1300, 'ok', '{"http.route":"/cart","n":3}'),
  ('0af7651916cd43dd8448eb211c80319c', x'00f067aa0ba902b7',
   x'1111111111111111', 'shop', 'compress', 'internal', 0, 1290, 'unset', '{}'),
  ('0af7651916cd43dd8448eb211c80319c', x'3333333333333333',
   x'1111111111111111', 'cache', 'SET ' || char(27) || '[31m', 'client', 1290,
   1295, 'unset', 'not JSON'),
  ('0af76519ffffffffffffffffffffffff', x'2222222222222222',
   x'9999999999999999', 'shop', 'GET /cart', 'server', 300, 1800, 'error',
   '{"http.route":"/cart"}'),
  -- each the other's parent
  ('0af76519ffffffffffffffffffffffff', x'4444444444444444',
   x'5555555555555555', 'shop', 'a', NULL, NULL, NULL, 'unset', NULL),
  ('0af76519ffffffffffffffffffffffff', x'5555555555555555',
   x'4444444444444444', 'shop', 'b', NULL, NULL, NULL, 'unset', NULL),
  ('cccccccccccccccccccccccccccccccc', x'0000000000000001', NULL, 'shop',
   'GET /quick', 'server', 500, 502, 'ok', '{"http.route":"/cart"}'),
  ('dddddddddddddddddddddddddddddddd', x'0000000000000001', NULL, 'shop',
   'GET /cart', 'server', -3600000, -3599000, 'ok', '{"http.route":"/cart"}'))
INSERT INTO span (trace, span_id, parent_span_id, service, name, kind, start_ns,
                  end_ns, status, attributes)
SELECT t.id, s.id, parent, service, name, kind,
       1700000000000000000 + start_ms * 1000000,
       1700000000000000000 + end_ms * 1000000, status, attributes
FROM s JOIN trace t ON t.hex = s.hex;
