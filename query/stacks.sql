-- What stacks.c keeps in memory; each in the order of its ids.

-- name: stacks_nodes
SELECT id, parent_id, frame_id FROM stack_node ORDER BY id;

-- name: stacks_stacks
SELECT id, status, depth, ended FROM stack ORDER BY id;

-- name: stacks_one
-- A stack with its leaf's node: its parent and frame. The same columns below.
SELECT k.id, k.status, k.depth, k.ended, n.parent_id, n.frame_id
FROM stack k LEFT JOIN stack_node n ON n.id = k.id WHERE k.id = ?1;

-- name: stacks_leaves
SELECT k.id, k.status, k.depth, k.ended, n.parent_id, n.frame_id
FROM stack k LEFT JOIN stack_node n ON n.id = k.id;

-- name: stacks_leaves_on
-- Those whose leaf is on one of the frames ?1, a list in JSON; of stacks that do
-- not tell, by their nodes.
SELECT k.id, k.status, k.depth, k.ended, n.parent_id, n.frame_id
FROM json_each(?1) f
CROSS JOIN stack k ON k.leaf_frame_id = f.value
CROSS JOIN stack_node n ON n.id = k.id
UNION ALL
SELECT k.id, k.status, k.depth, k.ended, n.parent_id, n.frame_id
FROM stack k CROSS JOIN stack_node n ON n.id = k.id
WHERE k.leaf_frame_id IS NULL
  AND n.frame_id IN (SELECT value FROM json_each(?1));

-- name: stacks_way
-- A node, and those made before it: mostly its parent is the next.
SELECT id, parent_id, frame_id FROM stack_node WHERE id <= ?1 ORDER BY id DESC;

-- name: stacks_frames
-- As frame_text puts it, which is asked only where there is no name.
SELECT
  f.id,
  ifnull(n.name || iif(f.in_kernel, '_[k]', ''),
         (SELECT t.name FROM frame_text t WHERE t.frame_id = f.id)),
  b.path,
  ifnull(n.source, (
    SELECT named.source
      FROM frame_function ff JOIN function named ON named.id = ff.function_id
     WHERE ff.frame_id = f.id
     ORDER BY ff.inline_depth LIMIT 1))
FROM frame f
JOIN binary b ON b.id = f.binary_id
LEFT JOIN frame_function innermost
  ON innermost.frame_id = f.id AND innermost.inline_depth = 0
LEFT JOIN function n ON n.id = innermost.function_id
ORDER BY f.id;

-- name: stacks_frame
-- The same of the frame ?1; then the functions into which it was inlined, from
-- the inside out.
SELECT
  f.id,
  ifnull(n.name || iif(f.in_kernel, '_[k]', ''),
         (SELECT t.name FROM frame_text t WHERE t.frame_id = f.id)),
  b.path,
  n.source
FROM frame f
JOIN binary b ON b.id = f.binary_id
LEFT JOIN frame_function ff ON ff.frame_id = f.id
LEFT JOIN function n ON n.id = ff.function_id
WHERE f.id = ?1
ORDER BY ff.inline_depth;

-- name: stacks_frames_named
-- Frames of a function that is called ?1.
SELECT ff.frame_id
FROM function n CROSS JOIN frame_function ff ON ff.function_id = n.id
WHERE n.name = ?1;

-- name: stacks_frames_at
-- Frames at the address ?1 of any binary.
SELECT f.id
FROM binary b CROSS JOIN frame f ON f.binary_id = b.id AND f.address = ?1;

-- name: stacks_inlined
-- The functions into which others were inlined, from the inside out.
SELECT ff.frame_id, n.name || iif(f.in_kernel, '_[k]', ''), b.path
FROM frame_function ff
JOIN function n ON n.id = ff.function_id
JOIN frame f ON f.id = ff.frame_id
JOIN binary b ON b.id = f.binary_id
WHERE ff.inline_depth > 0
ORDER BY ff.frame_id, ff.inline_depth;
