-- What frames.c keeps in memory; each in the order of its ids.

-- name: frames_binaries
SELECT id, kind, path, build_id FROM binary ORDER BY id;

-- name: frames_functions
SELECT id, name, linkage_name, file, line FROM function ORDER BY id;

-- name: frames_frames
-- The last column: how one reads that has no name.
SELECT f.id, f.binary_id, f.address, f.in_kernel,
  iif(EXISTS (SELECT 1 FROM frame_function n WHERE n.frame_id = f.id), NULL,
      (SELECT t.name FROM frame_text t WHERE t.frame_id = f.id))
FROM frame f ORDER BY f.id;

-- name: frames_levels
SELECT function_id, line FROM frame_function
WHERE frame_id = ?1 ORDER BY inline_depth;
