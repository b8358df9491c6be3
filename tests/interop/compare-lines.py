#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare what two programs say of the same addresses, in the form of
`addr2line -a -f -i`: compare-lines.py OURS GDB THEIRS... Prints `KIND N`,
kinds as 40-addr2line.sh explains them; with -v each difference, too. With -f
in place of GDB: the addresses for which gdb is to be asked."""

import os.path
import re
import sys


AGREE = ("equal", "neither", "theirs-symbol", "alias", "by-gdb")


def read(path):
    """address -> [(function, file, line)], innermost first"""
    chains, chain, name = {}, None, None
    for text in open(path, encoding="utf-8", errors="surrogateescape"):
        text = text.rstrip("\n")
        if re.fullmatch(r"0x[0-9a-f]{16}", text):
            chain = chains.setdefault(text, [])
            name = None
        elif name is None:
            name = re.sub(r" inlined at .*", "", text)
        else:
            place = re.sub(r" \(.*\)$", "", text)
            found = re.fullmatch(r"(.*?):(\d+|\?)(?::\d+)?", place)
            file, line = found.groups() if found else (place, "0")
            line = 0 if line == "?" else int(line)
            chain.append((name, os.path.normpath(file), line))
            name = None
    return chains


def kind(ours, theirs):
    """How the chains of one address differ."""
    theirs = [] if theirs == [("??", "??", 0)] else theirs
    if ours == theirs:
        return "equal" if ours else "neither"
    if not ours:
        # binutils has the file from the symbol table, too; no line, though
        only_symbol = len(theirs) == 1 and theirs[0][2] == 0
        return "theirs-symbol" if only_symbol else "ours-missing"
    if not theirs:
        return "theirs-missing"
    if [c[1:] for c in ours] == [c[1:] for c in theirs]:
        if ours[-1][0] == "??" and ours[:-1] == theirs[:-1]:
            return "theirs-symbol"
        short = [[c[0].replace("__GI_", "") for c in x] for x in (ours, theirs)]
        return "alias" if short[0] == short[1] else "name"
    if [c[0] for c in ours] != [c[0] for c in theirs]:
        return "chain"
    if [c[2] for c in ours] == [c[2] for c in theirs]:
        return "file"
    return "line"


def read_gdb(path):
    """address -> functions, innermost first"""
    lines = [line.rstrip("\n").split(" ", 1) for line in open(path)]
    return {line[0]: line[1].split("\t") for line in lines if len(line) == 2}


def main():
    verbose = sys.argv[1] == "-v"
    ours_at, gdb_at, *judges_at = sys.argv[1 + verbose :]
    ours, *judges = (read(path) for path in [ours_at, *judges_at])
    gdb = {} if gdb_at == "-f" else read_gdb(gdb_at)
    counts = {}
    for address, chain in ours.items():
        said = [judge.get(address, []) for judge in judges]
        kinds = [kind(chain, theirs) for theirs in said]
        # The judges differ, too: it is enough that one of them agrees.
        which = min(kinds, key=lambda k: (k not in AGREE, k != "equal"))
        places = [theirs[0][1:] for theirs in said if theirs]
        if (
            which in ("chain", "name")
            and gdb.get(address) == [level[0] for level in chain]
            and chain[0][1:] in places
        ):
            which = "by-gdb"
        counts[which] = counts.get(which, 0) + 1
        if which in AGREE:
            continue
        if gdb_at == "-f":
            print(address)
        elif verbose:
            print(address, kinds, chain, *said, gdb.get(address), sep="\n  ")
    for which in sorted(counts):
        if gdb_at != "-f":
            print(which, counts[which])


main()
