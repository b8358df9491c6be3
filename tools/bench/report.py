#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the parts of the benchmark noted, as one table, as JSON, and as text
between two lines of a document. bench.sh calls it."""

import argparse
import json
import sys

BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"


def number(text):
    """A number where it is one; None where there was nothing to measure."""
    try:
        value = float(text)
    except ValueError:
        return None if text in ("", "-", "nan") else text
    return int(value) if value.is_integer() else value


def read_figures(path):
    """The lines of measure.sh's note() and bench.sh."""
    report = {"facts": {}, "parts": [], "goals": [], "figures": []}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            kind, *fields = line.rstrip("\n").split("\t")
            if kind == "fact":
                report["facts"][fields[0]] = fields[1]
            elif kind == "part":
                with open(fields[2], encoding="utf-8") as printed:
                    report["parts"].append({
                        "name": fields[0], "seconds": int(fields[1]),
                        "text": printed.read()})
            else:
                part, values = fields[0], fields[1:]
                report[kind + "s"].append(row(kind, part, values))
    return report


def row(kind, part, values):
    if kind == "figure":
        what, value, unit, note = values
        return {"part": part, "what": what, "value": number(value),
                "unit": unit, "note": note}
    what, ours, theirs, ratio, goal, unit, peer, *note = values
    return {"part": part, "what": what, "weft": number(ours),
            "peer": number(theirs), "ratio": number(ratio),
            "goal": goal, "unit": unit, "of": peer,
            "note": note[0] if note else ""}


def holds(goal):
    """Whether a ratio is what was wanted; None where no number was."""
    limit = number(goal["goal"].removeprefix("at least ").partition(" ")[0])
    if limit is None or not isinstance(goal["ratio"], (int, float)):
        return None
    if "at least" in goal["goal"]:
        return goal["ratio"] >= limit
    return goal["ratio"] <= limit


def amount(value, unit):
    if not isinstance(value, (int, float)):
        return "?" if value is None else str(value)
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    if isinstance(value, int):
        digits = 0
    return f"{value:,.{digits}f} {unit}".rstrip()


def table(report):
    """Rows of cells: what, weft, peer, ratio, goal, holds."""
    words = {True: "yes", False: "no", None: ""}
    return [["what", "weft", "peer", "ratio", "goal", "met"]] + [
        [g["what"], amount(g["weft"], g["unit"]),
         f"{amount(g['peer'], g['unit'])} ({g['of']})" if g["of"]
         else amount(g["peer"], g["unit"]),
         amount(g["ratio"], ""), g["goal"], words[holds(g)]]
        for g in report["goals"]]


def markdown(report):
    lines = ["Taken by `tools/bench/bench.sh --write`, in "
             f"{int(report['facts'].get('seconds', 0)) // 60} minutes:", ""]
    lines += [f"- {name}: {value}" for name, value in report["facts"].items()
              if name != "seconds"]
    rows = table(report)
    lines += ["", "| " + " | ".join(rows[0]) + " |",
              "| --- | ---: | ---: | ---: | --- | --- |"]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows[1:]]
    for part in report["parts"]:
        lines += ["", f"### {part['name']} ({part['seconds']} s)", "", "```",
                  part["text"].rstrip("\n"), "```"]
    return "\n".join(lines)


def put_between(path, text):
    with open(path, encoding="utf-8") as old:
        before, begin, rest = old.read().partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"report.py: {path} lacks the lines {BEGIN} and {END}")
    with open(path, "w", encoding="utf-8") as new:
        new.write(f"{before}{begin}{text}\n{end}{after}")


def print_table(report):
    rows = table(report)
    if len(rows) == 1:
        return
    widths = [max(len(cells[i]) for cells in rows) for i in range(6)]
    for cells in rows:
        print("  ".join(c.ljust(w) if i in (0, 4, 5) else c.rjust(w)
                        for i, (c, w) in enumerate(zip(cells, widths)))
              .rstrip())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--figures")
    options.add_argument("--from", dest="source")
    options.add_argument("--json")
    options.add_argument("--write")
    asked = options.parse_args()
    if asked.source:
        with open(asked.source, encoding="utf-8") as stored:
            report = json.load(stored)
    else:
        report = read_figures(asked.figures)
    print_table(report)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
            out.write("\n")
    if asked.write:
        put_between(asked.write, markdown(report))


main()
