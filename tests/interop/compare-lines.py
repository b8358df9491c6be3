#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare what two programs say of the same addresses, in the form of
`addr2line -a -f -i`: compare-lines.py OURS THEIRS... [-w GDB LLVM]. Prints
`KIND N`, kinds as 40-addr2line.sh explains them; with -v each difference that
none of them explains, with -vv each. Without -w the addresses of differences,
for which witnesses are to be asked: gdb its functions, LLVM as the judges."""

import os.path
import re
import sys


# One of the judges says the same; a witness does; nobody has more.
AGREE = ("equal", "neither", "theirs-symbol", "alias")
EXPLAINED = ("by-llvm", "by-gdb", "by-both", "no-unit")


def read(path):
    """address -> [(function, file, line)], innermost first"""
    chains, chain, name = {}, None, None
    for text in open(path, encoding="utf-8", errors="surrogateescape"):
        text = text.rstrip("\n")
        if re.fullmatch(r"0x[0-9a-f]+", text):
            chain = chains.setdefault(f"0x{int(text, 16):016x}", [])
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
    return {line[0]: line[1].split("\t") for line in lines if line[-1] and line[1:]}


def places_of(chain):
    return [level[1:] for level in chain]


def of_judges(chain, said):
    """The judges differ, too: it is enough that one of them agrees."""
    kinds = [kind(chain, theirs) for theirs in said]
    return min(kinds, key=lambda k: (k not in AGREE, k != "equal"))


def of_witnesses(which, chain, said, gdb, llvm):
    """What explains a difference from all judges; itself, if nothing does."""
    if which == "ours-missing" and not gdb and llvm == [("??", "??", 0)]:
        return "no-unit"
    if kind(chain, llvm) in ("equal", "alias"):
        return "by-llvm"
    names = [level[0] for level in chain]
    places = [theirs[0][1:] for theirs in said if theirs]
    if which in ("chain", "name") and gdb == names and chain[0][1:] in places:
        return "by-gdb"
    if which == "line" and gdb == names and places_of(chain) == places_of(llvm):
        return "by-both"
    return which


def main():
    args = sys.argv[1:]
    verbose = args.pop(0) if args[0].startswith("-v") else ""
    witnesses = None
    if "-w" in args:
        at = args.index("-w")
        witnesses = read_gdb(args[at + 1]), read(args[at + 2])
        args = args[:at]
    ours, *judges = (read(path) for path in args)
    counts = {}
    for address, chain in ours.items():
        said = [judge.get(address, []) for judge in judges]
        which = of_judges(chain, said)
        if which not in AGREE and not witnesses:
            print(address)
        elif which not in AGREE:
            seen = [witness.get(address, []) for witness in witnesses]
            why = of_witnesses(which, chain, said, *seen)
            if verbose and (why not in EXPLAINED or verbose == "-vv"):
                print(address, which, why, chain, *said, *seen, sep="\n  ")
            which = why
        counts[which] = counts.get(which, 0) + 1
    for which in sorted(counts):
        if witnesses:
            print(which, counts[which])


main()
