-- What stacks.c keeps in memory; each in the order of its ids.

-- name: stacks_nodes
SELECT id, parent_id, frame_id FROM stack_node ORDER BY id;

-- name: stacks_stacks
SELECT id, status, depth, ended FROM stack ORDER BY id;

-- name: stacks_frames
SELECT
  frame_id, name, binary,
  (SELECT n.source
     FROM frame_function ff JOIN function n ON n.id = ff.function_id
    WHERE ff.frame_id = f.frame_id
    ORDER BY ff.inline_depth LIMIT 1)
FROM frame_text f ORDER BY frame_id;

-- name: stacks_inlined
-- The functions into which others were inlined, from the inside out.
SELECT ff.frame_id, n.name || iif(f.in_kernel, '_[k]', ''), b.path
FROM frame_function ff
JOIN function n ON n.id = ff.function_id
JOIN frame f ON f.id = ff.frame_id
JOIN binary b ON b.id = f.binary_id
WHERE ff.inline_depth > 0
ORDER BY ff.frame_id, ff.inline_depth;
