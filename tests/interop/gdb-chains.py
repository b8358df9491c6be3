# SPDX-License-Identifier: MIT
"""Within gdb: for the addresses in $ADDRESSES, the functions that gdb has
there by its blocks, innermost first, one address per line."""

import os

import gdb

for line in open(os.environ["ADDRESSES"], encoding="ascii"):
    pc = int(line, 16)
    block = gdb.block_for_pc(pc)
    names = []
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            # Where DWARF has no linkage name, gdb makes "main(int, char**)"
            # of main.
            name = block.function.linkage_name
            names.append(name if name.startswith("_") else name.split("(")[0])
        block = block.superblock
    print(f"0x{pc:016x} " + "\t".join(names))
