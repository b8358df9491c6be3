# SPDX-License-Identifier: MIT
"""71-by-time.py serve SPANS STOP: a server without trace context, one request
after the other, until the file STOP is there; then its spans, with the boot
time that tells the truth about them.

71-by-time.py step SECONDS HOLD: put the clock forward, hold, put it back, by
the boot clock, whatever comes."""
import json
import os
import signal
import socket
import sys
import time


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def serve(path, stop):
    spans = []
    while not os.path.exists(stop):
        began = boot_ns()
        start = time.time_ns()
        cpu = time.thread_time_ns() + 20_000_000
        while time.thread_time_ns() < cpu:
            pass
        end = time.time_ns()
        spans.append((start, end, began, boot_ns()))
        # some work is of no request
        cpu = time.thread_time_ns() + 2_000_000
        while time.thread_time_ns() < cpu:
            pass
    resource = {"attributes": [
        {"key": "process.pid", "value": {"intValue": str(os.getpid())}},
        {"key": "host.name", "value": {"stringValue": socket.gethostname()}}]}
    with open(path, "w") as out:
        for i, (start, end, began, ended) in enumerate(spans):
            span = {"traceId": "%032x" % (i + 1), "spanId": "%016x" % (i + 1),
                    "name": "request", "kind": 2,
                    "startTimeUnixNano": str(start),
                    "endTimeUnixNano": str(end),
                    "attributes": [
                        {"key": "began", "value": {"intValue": str(began)}},
                        {"key": "ended", "value": {"intValue": str(ended)}}]}
            json.dump({"resourceSpans": [{
                "resource": resource, "scopeSpans": [{"spans": [span]}]}]}, out)
            out.write("\n")


def step(seconds, hold):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    offset = time.time_ns() - boot_ns()
    try:
        time.clock_settime_ns(time.CLOCK_REALTIME,
                              boot_ns() + offset + int(seconds * 1e9))
        time.sleep(hold)
    finally:
        time.clock_settime_ns(time.CLOCK_REALTIME, boot_ns() + offset)


if sys.argv[1] == "serve":
    serve(sys.argv[2], sys.argv[3])
else:
    step(float(sys.argv[2]), float(sys.argv[3]))
