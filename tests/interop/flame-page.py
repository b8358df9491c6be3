# SPDX-License-Identifier: MIT
"""What the pages of weft flame show: run by 62-flame.sh, which has made them
in the directory that is given. TAP on standard output."""
import json
import os
import sys
import time

from browser import Browser

A = "0af7651916cd43dd8448eb211c80319c"
os.chdir(sys.argv[1])
browser = Browser()
ask = browser.ask
count = 0
failed = False


def check(claim, holds, *figures):
    global count, failed
    count += 1
    failed = failed or not holds
    for figure in figures:
        print("#", str(figure).replace("\n", "\n# "))
    print(f"{'ok' if holds else 'not ok'} {count} - {claim}", flush=True)


def place(name):
    """Where the widest frame of a name is on the screen: its middle."""
    return ask("""(name => {
        const {graph: g, drawing: d} = page;
        let best = -1;
        for (let i = 0; i < g.tree.n; i++)
            if (g.name(i) === name && (best < 0 || g.w[i] > g.w[best]))
                best = i;
        const box = document.getElementById('canvas').getBoundingClientRect();
        const [from, to] = d.span(best);
        return [box.left + (from + to) / 2, box.top + d.rowTop(
            g.tree.depth[best]) - d.scroll.scrollTop + 8];
        })(%s)""" % json.dumps(name))


def focused():
    return ask("document.getElementById('item').textContent")


def zoomed():
    return ask("page.graph.name(page.graph.zoom)")


def drawn_width(name):
    return ask("""(name => { const g = page.graph; let sum = 0;
        for (let i = 0; i < g.tree.n; i++)
            if (g.name(i) === name &&
                g.name(g.tree.parent[i]) !== name) sum += g.w[i];
        return sum; })(%s)""" % json.dumps(name))


def overview():
    browser.open("small.html")
    check("the page opens without a complaint, and loads nothing",
          not browser.complaints(), *browser.complaints())
    check("it tells what was recorded",
          "300 samples" in browser.text("facts") and
          browser.text("title") == "small.db" and
          "91.3 % complete" in browser.text("quality"))
    check("the canvas has colours in it", ask("""(() => {
        const c = document.getElementById('canvas');
        const data = c.getContext('2d').getImageData(0, 0, c.width, 60).data;
        return new Set(new Uint32Array(data.buffer)).size; })()""") > 10)
    browser.point(*place("compress"))
    tip = browser.text("tip")
    check("pointing at a frame tells its share, interval and time",
          "53.33 % (47.68 to 58.90 %)" in tip and "1.60 s" in tip and
          "of this recording" in tip, tip)
    browser.point(*place("[broken]"))
    check("what is no frame is called by what it is",
          "the callers could not be found" in browser.text("tip"),
          browser.text("tip"))


def searching():
    browser.open("small.html")
    browser.key("/", "/")
    browser.type("^comp|memcpy")
    found = browser.text("found")
    check("/ goes to the search; it tells the share that matches, each sample "
          "once", found.startswith("3 frames") and
          "on the stacks of 61.33 %" in found, found)
    check("requests show how much of them matches",
          "Matched" in browser.text("columns") and
          "%" in ask("document.querySelector('#rows td:last-child')"
                     ".textContent"))
    browser.key("Escape")
    check("Escape ends the search", browser.text("found") == "" and
          ask("document.getElementById('search').value") == "")
    browser.key("/", "/")
    browser.type("(")
    check("what is no regular expression is said to be none",
          "no regular expression" in browser.text("found"))
    ask("page.search('nonesuch')")
    check("no match is told", "No frame matches" in browser.text("found"))


def zooming():
    browser.open("small.html")
    browser.click(*place("compress"))
    check("a click zooms to the frame, over all the width",
          zoomed() == "compress" and
          ask("(([a, b]) => b - a)(page.drawing.span(page.graph.zoom))") ==
          ask("page.drawing.widthPx"))
    check("a zoom stands in the address", "zoom=" in ask("location.hash"))
    browser.key("Escape")
    check("Escape zooms out", zoomed() == "all samples" and
          browser.text("unzoom") == "")
    ask("page.setFocus(0); document.getElementById('tree').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        browser.key(key)
    check("arrows go inward and to the side, and the frame is told",
          focused().startswith("[broken], ") or
          focused().startswith("[truncated], "), focused())
    for key in ("ArrowLeft", "ArrowDown", "Enter"):
        browser.key(key)
    check("Enter zooms to the frame in focus", zoomed() == "main", zoomed())
    browser.key("i", "i")
    check("i turns the graph over: the root is at the bottom",
          ask("page.drawing.rowTop(0) > page.drawing.rowTop(1)") and
          ask("document.getElementById('upright').ariaPressed") == "true")
    browser.key("ArrowUp")
    check("then up is inward", focused().startswith("handle, "), focused())


def picking():
    browser.open("small.html")
    before = drawn_width("compress")
    x, y = ask("(b => [b.left + 20, b.top + 10])(document.querySelector("
               "'#rows .pick').getBoundingClientRect())")
    browser.click(x, y)
    check("picking a request says whose samples are shown",
          f"Request {A}: 16 samples" in browser.text("comparing"),
          browser.text("comparing"))
    check("the graph has its shares",
          abs(drawn_width("compress") - 12 / 16) < 1e-9 and
          abs(before - 160 / 300) < 1e-9, before, drawn_width("compress"))
    browser.point(*place("handle"))
    tip = browser.text("tip")
    check("a frame tells its share, everyone's and the difference",
          "this request" in tip and "all samples" in tip and
          "of only 16 samples" in tip and "too few" in tip, tip)
    ask("document.getElementById('widths-other').click()")
    browser.settle()
    check("its frames can stand at everyone's widths",
          abs(drawn_width("compress") - before) < 1e-9)
    address = ask("location.hash")
    browser.open("small.html", address)
    check("the choice stands in the address, which opens the page as it was",
          A in browser.text("comparing") and
          abs(drawn_width("compress") - before) < 1e-9, address)
    browser.key("Escape")
    check("Escape ends it", browser.text("comparing") == "" and
          "trace" not in ask("location.hash"))


def pooling():
    browser.open("pool.html")
    both = "2 requests with name = GET /cart: 22 samples"
    check("many requests as one are shown first, against everyone",
          both in browser.text("comparing") and
          "All 2, each on average" in browser.text("rows") and
          abs(drawn_width("compress") - 14 / 22) < 1e-9,
          browser.text("comparing"), drawn_width("compress"))
    browser.point(*place("handle"))
    check("a frame tells their share", "these requests" in
          browser.text("tip"), browser.text("tip"))
    ask("document.querySelectorAll('#rows .pick')[1].click()")
    browser.settle()
    check("one of them can be picked",
          f"Request {A}: 16 samples" in browser.text("comparing"))


def differing():
    browser.open("against.html")
    check("two files: the page says against which",
          "other.db: 660 samples" in browser.text("comparing"),
          browser.text("comparing"))
    differences = ask("""(() => { const g = page.graph, out = {};
        for (let i = 1; i < g.tree.n; i++)
            out[g.name(i) + g.tree.depth[i]] = g.difference(i);
        return out; })()""")
    check("what one has more of is told as sure where intervals say so",
          differences["compress6"]["by"] < -0.5 and
          differences["compress6"]["isSure"] and
          differences["fast_copy5"]["isSure"] and
          differences["[lib;c.so+0x1234]4"]["by"] > 0.5 and
          not differences["[lib;c.so+0x1234]4"]["isSure"], differences)
    browser.point(*place("[lib;c.so+0x1234]"))
    check("a difference is told in points, and whether intervals overlap",
          "points" in browser.text("tip") and
          "the intervals overlap" in browser.text("tip"),
          browser.text("tip"))


def hostile():
    browser.open("hostile.html")
    browser.point(*place("</script><script>document.title = 1</script>"))
    check("a name with <script> is shown as what it is",
          "</script><script>document.title = 1</script>" in
          browser.text("tip"), browser.text("tip"))
    ask("page.pick(page.data.traces[0])")
    browser.settle()
    check("names of spans are, too",
          '<svg onload="document.title=3">' in browser.text("rows") and
          "<i>s</i>" in browser.text("rows"))
    check("none of them ran or became an element",
          "hostile.db" in ask("document.title") and
          ask("document.querySelectorAll('img, svg, b, i').length") == 0 and
          not browser.complaints(), *browser.complaints())
    check("what turns text around or does not show is shown by number",
          "\u2039202E\u203atxt.exe\u20391B\u203a\u20392028\u203a" in
          ask("page.graph.tree.names"))


def same_intervals():
    browser.open("counts.html")
    ours = {row["stack"].rsplit(";", 1)[1]:
            (row["self_samples"], row["self_share_lo"], row["self_share_hi"])
            for row in json.load(open("counts.json"))["rows"]}
    theirs = ask("""(() => { const g = page.graph, out = {};
        for (let i = 1; i < g.tree.n; i++) {
            const s = shareOf(g.base, g.base.self[i]);
            if (g.base.self[i] > 0)
                out[g.name(i)] = [g.base.self[i], s.lo, s.hi];
        }
        return out; })()""")
    same = ours.keys() == theirs.keys()
    worst = max(abs(a - b) for name in ours
                for a, b in zip(ours[name], theirs.get(name, (0, 0, 0))))
    check("its intervals are those of weft top, for 41 counts",
          same and len(ours) == 41 and worst < 1e-12,
          f"from {min(o[0] for o in ours.values())} to "
          f"{max(o[0] for o in ours.values())} samples, "
          f"largest difference {worst:.1g}")


def empty():
    browser.open("untraced.html")
    check("a page without requests says why",
          "carries a trace ID" in browser.text("requests-none") and
          browser.text("table") == "", browser.text("requests-none"))


def themes():
    browser.open("small.html")
    back = "getComputedStyle(document.body).backgroundColor"
    light = ask(back)
    browser.call("Emulation.setEmulatedMedia", features=[
        {"name": "prefers-color-scheme", "value": "dark"}])
    browser.settle()
    dark = ask(back)
    browser.key("t", "t")
    chosen = ask(back)
    browser.call("Emulation.setEmulatedMedia", features=[])
    check("colours follow the system, and the reader's choice before that",
          light != dark and chosen == light, light, dark)


def timed(step):
    began = time.monotonic()
    step()
    browser.settle()
    return 1000 * (time.monotonic() - began)


def large():
    opened = timed(lambda: browser.open("large.html"))
    nodes = ask("page.graph.tree.n")
    zooms = [timed(lambda: ask("page.zoomTo(%s)" % to)) for to in (
        "page.graph.children(3)[7]", "0",
        "page.graph.children(page.graph.children(3)[2])[0]")]
    shown = zoomed()
    searched = timed(lambda: ask("page.search('function_1.*')"))
    drawn = ask("(page.zoomTo(0), page.drawing.range = [0, 1], "
                "page.drawing.draw(), [page.drawing.drawn, "
                "page.drawing.lastMs])")
    check("a graph of 100,000 frames opens, zooms and is searched",
          nodes > 100000 and "function_" in shown and
          "frames, on the stacks of" in browser.text("found") and
          not browser.complaints(),
          f"{nodes} frames, {os.path.getsize('large.html')} bytes: opened in "
          f"{opened:.0f} ms, zoomed in "
          f"{', '.join(f'{z:.0f}' for z in zooms)} ms (of which it glides "
          f"180), searched in {searched:.0f} ms; all of it, {drawn[0]} frames "
          f"that can be seen, drawn in {drawn[1]:.1f} ms",
          *browser.complaints())


for claims in (overview, searching, zooming, picking, pooling, differing, hostile,
               same_intervals, empty, themes, large):
    try:
        claims()
    except (RuntimeError, LookupError, TypeError, ValueError) as error:
        check(f"{claims.__name__}: {error}", False)
    except EOFError as error:
        check(f"{claims.__name__}: {error}", False)
        break
browser.close()
print(f"1..{count}")
sys.exit(failed)
