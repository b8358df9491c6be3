# SPDX-License-Identifier: MIT
"""Send spans to PORT as programs do, and as nobody should; one line for each
answer. Every span that is accepted has a trace ID of its own kind."""
import gzip
import json
import socket
import sys
import time
import urllib.error
import urllib.request

port = int(sys.argv[1])
TRACE = "5b8efff798038103d269b633813fc60c"


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def as_json(first, n=1, trace=TRACE, service="sender"):
    now = time.time_ns()
    spans = [{"traceId": trace, "spanId": "%016x" % (first + i),
              "name": "GET /x", "kind": 2, "startTimeUnixNano": str(now),
              "endTimeUnixNano": now + 10**6} for i in range(n)]
    return json.dumps({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {
            "stringValue": service}}]},
        "scopeSpans": [{"spans": spans}]}]}).encode()


def as_proto(first):
    span = (field(1, bytes.fromhex(TRACE)) +
            field(2, first.to_bytes(8, "big")) + field(5, b"proto"))
    return field(1, field(2, field(2, span)))


def post(name, body, kind="application/json", coding=None, path="/v1/traces"):
    headers = {"Content-Type": kind}
    if coding:
        headers["Content-Encoding"] = coding
    request = urllib.request.Request(
        "http://127.0.0.1:%d%s" % (port, path), data=body, headers=headers)
    for left in range(100, -1, -1):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                print(name, answer.status, answer.read())
        except urllib.error.HTTPError as error:
            # On a busy machine the last may not be taken yet: come again.
            if error.code == 429 and left:
                time.sleep(0.1)
                continue
            print(name, error.code, error.read()[:300])
        except OSError as error:
            print(name, "failed", error)
        return


# Connections that say nothing, or half of it, hold up nobody.
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
silent[0].sendall(b"POST /v1/traces HTTP/1.1\r\nContent-Le")
silent[1].sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n"
                  b"Content-Type: application/json\r\n"
                  b"Content-Length: 1000\r\n\r\n{")
body = as_json(1)
post("json", body)
post("again", body)
post("gzip", gzip.compress(as_json(100, 1000)), "application/json; charset=utf-8",
     "gzip")
post("members", gzip.compress(as_json(2)[:50]) + gzip.compress(as_json(2)[50:]),
     coding="gzip")
post("chunked", [as_json(3)[:9], as_json(3)[9:]])
post("proto", as_proto(4), "application/x-protobuf")
post("empty", b"", "application/x-protobuf")
post("bad-id", as_json(5, 2, TRACE + "00"))
post("types", body.replace(b"\"spans\": [", b"\"spans\": [7, "))
post("deep", b"[" * 100000)
post("cut-gzip", gzip.compress(body)[:-9], coding="gzip")
post("no-otlp", b'{"a":1}')
post("cut", body[:-3])
post("bad-proto", b"\x0a\x7f", "application/x-protobuf")
post("type", body, "text/plain")
post("path", body, path="/v1/logs")
post("coding", body, coding="zstd")
post("bomb", gzip.compress(bytes(70 << 20)), coding="gzip")
post("large", b" " * (66 << 20))
post("no-gzip", body, coding="gzip")
# A resource's attributes stand in each span of it.
post("amplified", as_json(10000, 10000, service="s" * 60000))
post("last", as_json(6))
