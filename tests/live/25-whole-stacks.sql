-- SPDX-License-Identifier: MIT
--
-- The stacks of the program unwind, for 25-whole-stacks.awk: first the user
-- frames of each (F, stack, kind of file, path, address, name), root first,
-- then how often a process was on it (S, pid, stack, count, status, reason).
.mode tabs
CREATE TEMP TABLE counted AS
SELECT p.pid, t.stack_id, sum(t.count) AS count
  FROM stack_total t JOIN process p ON p.id = t.process_id
 WHERE p.exe GLOB '*/load/unwind/*' OR p.exe GLOB '/memfd:unwind*'
 GROUP BY 1, 2;
SELECT 'F', sf.stack_id, b.kind, b.path, f.address,
       -- the function itself, whatever was inlined into it
       ifnull((SELECT n.name
                 FROM frame_function ff JOIN function n ON n.id = ff.function_id
                WHERE ff.frame_id = f.id
                ORDER BY ff.inline_depth DESC LIMIT 1), '')
  FROM (SELECT DISTINCT stack_id FROM counted) c
  JOIN stack_frame sf ON sf.stack_id = c.stack_id
  JOIN frame f ON f.id = sf.frame_id
  JOIN binary b ON b.id = f.binary_id
 WHERE NOT f.in_kernel
 ORDER BY sf.stack_id, sf.position DESC;
SELECT 'S', c.pid, c.stack_id, c.count,
       -- while it returns from a signal, the kernel has some of the registers
       -- of both places
       iif(EXISTS (SELECT 1 FROM stack_function x
                    WHERE x.stack_id = s.id AND x.in_kernel
                      AND x.function LIKE '%rt_sigreturn%'),
           'no_user', s.status), s.ended
  FROM counted c JOIN stack s ON s.id = c.stack_id;
