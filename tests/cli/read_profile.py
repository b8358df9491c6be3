# SPDX-License-Identifier: MIT
"""Read an exported profile and print what is in it as one JSON object.

    read_profile.py FORMAT FILE

Checks on the way what readers of the format refuse: references that lead
nowhere, text that is not UTF-8 or has control characters. Protobuf is decoded
by hand, so that nothing of what wrote it is in it. Files may be large: sums
are made as it goes."""
import gzip
import json
import struct
import sys
import unicodedata


def text(b):
    """UTF-8 without control characters."""
    s = b.decode("utf-8", "strict") if isinstance(b, bytes) else b
    assert not any(unicodedata.category(c) == "Cc" for c in s), repr(s)
    return s


def varint(b, i):
    n = shift = 0
    while True:
        assert shift < 70, "a varint of more than ten bytes"
        n |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return n, i


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def fields(b):
    """Number and value of each field: a number, or bytes."""
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        kind = key & 7
        if kind == 0:
            value, i = varint(b, i)
        elif kind == 1:
            value, i = struct.unpack_from("<Q", b, i)[0], i + 8
        else:
            assert kind == 2, "wire type %d" % kind
            size, i = varint(b, i)
            assert i + size <= len(b), "a field goes beyond the end"
            value, i = b[i:i + size], i + size
        yield key >> 3, value


def numbers(value):
    """A repeated number, packed or not."""
    if isinstance(value, int):
        return [signed(value)]
    out, i = [], 0
    while i < len(value):
        n, i = varint(value, i)
        out.append(signed(n))
    return out


def message(b):
    """All fields by number, each a list."""
    out = {}
    for number, value in fields(b):
        out.setdefault(number, []).append(value)
    return out


def one(m, number, default=0):
    return m.get(number, [default])[-1]


def pprof(path):
    raw = open(path, "rb").read()
    data = gzip.decompress(raw)
    assert raw[:2] == b"\x1f\x8b"
    p = {}
    samples = 0
    used, sums, labels, depth = set(), [], {}, 0
    pending = []
    for number, value in fields(data):
        if number != 2:
            p.setdefault(number, []).append(value)
            continue
        m = message(value)
        ids = [n for v in m.get(1, []) for n in numbers(v)]
        values = [n for v in m.get(2, []) for n in numbers(v)]
        used.update(ids)
        depth = max(depth, len(ids))
        sums = sums or [0] * len(values)
        sums = [a + b for a, b in zip(sums, values, strict=True)]
        samples += 1
        for label in m.get(3, []):
            pending.append(label)
            if len(pending) > 1000:
                pending = list(dict.fromkeys(pending))
    assert set(p) <= {1, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14}, sorted(p)
    strings = [text(s) for s in p[6]]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    for label in dict.fromkeys(pending):
        m = message(label)
        key = strings[one(m, 1)]
        value = strings[one(m, 2)] if 2 in m else one(m, 3)
        labels.setdefault(key, set()).add(value)
    functions = {}
    for m in map(message, p.get(5, [])):
        assert one(m, 1) and one(m, 1) not in functions
        functions[one(m, 1)] = [strings[one(m, n)] for n in (2, 3, 4)] + [
            one(m, 5)]
    mappings = {}
    for m in map(message, p.get(3, [])):
        assert one(m, 1) and one(m, 1) not in mappings
        mappings[one(m, 1)] = [strings[one(m, 5)], strings[one(m, 6)]]
        limits = one(m, 2), one(m, 3)
    locations = {}
    for m in map(message, p.get(4, [])):
        assert one(m, 1) and one(m, 1) not in locations
        lines = [message(v) for v in m.get(4, [])]
        assert lines, "a location without a line"
        if one(m, 2):
            assert limits[0] <= one(m, 3) < limits[1]
            mappings[one(m, 2)]
        locations[one(m, 1)] = [functions[one(v, 1)][0] for v in lines]
    assert used == set(locations)
    types = [[strings[one(m, 1)], strings[one(m, 2)]]
             for m in map(message, p[1])]
    period = message(one(p, 11, b""))
    comments = [strings[n] for v in p.get(13, []) for n in numbers(v)]
    return {
        "samples": samples, "types": types, "sums": sums, "depth": depth,
        "default": strings[one(p, 14)], "period": one(p, 12),
        "period_type": [strings[one(period, 1)], strings[one(period, 2)]],
        "time_ns": one(p, 9), "duration_ns": one(p, 10),
        "comments": comments, "mappings": list(mappings.values()),
        "functions": sorted(functions.values()),
        "inlined": sorted(v for v in locations.values() if len(v) > 1),
        "labels": {k: sorted(v) for k, v in labels.items()},
    }


def any_value(b, strings):
    m = message(b)
    if 1 in m:
        return text(m[1][0])
    if 5 in m:
        return [any_value(v, strings) for v in message(m[5][0]).get(1, [])]
    return signed(one(m, 3))


def otlp(path):
    top = message(open(path, "rb").read())
    assert set(top) <= {1, 2} and len(top[2]) == 1
    d = message(top[2][0])
    strings = [text(s) for s in d[5]]
    for number in (1, 2, 3, 4, 6, 7):
        assert d[number][0] == b"", "element 0 of table %d" % number
    attributes = [None]
    for b in d[6][1:]:
        m = message(b)
        attributes.append([strings[one(m, 1)],
                           any_value(m[2][0], strings)])
    functions = [[strings[one(m, n)] for n in (1, 2, 3)]
                 for m in map(message, d[3])]
    mappings = [[strings[one(m, 4)],
                 [attributes[n] for v in m.get(5, []) for n in numbers(v)]]
                for m in map(message, d[1])]
    locations = [None]
    for b in d[2][1:]:
        m = message(b)
        kinds = [attributes[n] for v in m.get(4, []) for n in numbers(v)]
        assert kinds[0][0] == "profile.frame.type"
        mappings[one(m, 1)]
        locations.append([functions[one(message(v), 1)][0]
                          for v in m[3]])
    links = [message(b) for b in d[4]]
    for m in links[1:]:
        assert len(one(m, 1)) == 16 and any(one(m, 1))
        assert len(one(m, 2)) == 8 and any(one(m, 2))
    stacks = len(d[7])
    for b in d[7][1:]:
        for v in message(b)[1]:
            assert all(0 < n < len(locations) for n in numbers(v))
    profiles, resources = [], []
    for r in map(message, top.get(1, [])):
        resources.append({
            text(one(m, 1)): any_value(one(m, 2), strings)
            for m in map(message, message(r[1][0])[1])})
        for s in map(message, r[2]):
            scope = text(one(message(s[1][0]), 1))
            for b in s[2]:
                profiles.append(dict(
                    otlp_profile(b, strings, attributes, len(links), stacks),
                    scope=scope, pid=resources[-1]["process.pid"]))
    return {"profiles": profiles, "resources": resources,
            "mappings": mappings[1:], "functions": sorted(functions[1:]),
            "links": len(links) - 1, "stacks": stacks - 1}


def otlp_profile(b, strings, attributes, links, stacks):
    p, count, value_sum, linked, used = {}, 0, 0, 0, set()
    first, last = 1 << 64, 0
    for number, v in fields(b):
        if number != 2:
            p.setdefault(number, []).append(v)
            continue
        m = message(v)
        assert 0 < one(m, 1) < stacks and one(m, 3) < links
        values = [n for w in m.get(4, []) for n in numbers(w)]
        times = [t for w in m.get(5, [])
                 for t in struct.unpack("<%dQ" % (len(w) // 8), w)]
        assert values or times
        assert not (values and times) or len(values) == len(times)
        for w in m.get(2, []):
            used.update(attributes[n][0] for n in numbers(w))
        n = len(times) or 1
        count += n
        value_sum += sum(values)
        linked += n if one(m, 3) else 0
        if times:
            first, last = min(first, *times), max(last, *times)
    start, length = one(p, 3), one(p, 4)
    assert not last or start <= first and last < start + length
    assert len(one(p, 7)) == 16
    kind, period = message(p[1][0]), message(one(p, 5, b""))
    return {
        "type": [strings[one(kind, 1)], strings[one(kind, 2)]],
        "period_type": [strings[one(period, 1)], strings[one(period, 2)]],
        "period": one(p, 6), "points": count, "sum": value_sum,
        "linked": linked, "attributes": sorted(used),
        "comments": [attributes[n] for v in p.get(11, [])
                     for n in numbers(v)],
    }


def speedscope(path):
    with open(path, encoding="utf-8", errors="strict") as f:
        j = json.load(f)
    frames = [text(f["name"]) for f in j["shared"]["frames"]]
    [text(f.get("file", "")) for f in j["shared"]["frames"]]
    assert j["$schema"].startswith("https://www.speedscope.app/")
    assert text(j["name"]) and len(j["profiles"]) == 1
    p = j["profiles"][0]
    assert p["type"] == "sampled" and p["startValue"] == 0
    assert len(p["samples"]) == len(p["weights"])
    used = {n for s in p["samples"] for n in s}
    assert used == set(range(len(frames)))
    assert sum(p["weights"]) == p["endValue"]
    return {"samples": len(p["samples"]), "value": p["endValue"],
            "unit": p["unit"], "name": p["name"], "frames": frames,
            "first": sorted({frames[s[0]] for s in p["samples"]}),
            "deepest": [frames[n] for n in max(p["samples"], key=len)]}


def folded(path):
    total = lines = 0
    with open(path, "rb") as f:
        before = b""
        for line in f:
            stack, _, count = text(line[:-1]).rpartition(" ")
            assert ";" in stack and int(count) > 0 and line[-1:] == b"\n"
            # one line for each, in the order of the bytes
            assert before < stack.encode(), stack
            before = stack.encode()
            total += int(count)
            lines += 1
    return {"lines": lines, "count": total}


if __name__ == "__main__":
    reader = {"pprof": pprof, "otlp": otlp, "speedscope": speedscope,
              "folded": folded}[sys.argv[1]]
    json.dump(reader(sys.argv[2]), sys.stdout)
