-- SPDX-License-Identifier: MIT
--
-- Debug files of binutils and LLVM do not tell which of their addresses an
-- offset in the program has.

CREATE TABLE binary_segment (
  -- a piece of a binary's file that is mapped as code, as its ELF header says
  binary_id INTEGER NOT NULL REFERENCES binary,
  file_offset INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  address INTEGER NOT NULL,         -- as symbols and DWARF give it
  PRIMARY KEY (binary_id, file_offset)
) WITHOUT ROWID;
