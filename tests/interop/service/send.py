# SPDX-License-Identifier: MIT
"""Send requests, each with a trace ID of its own, and write down the truth.

    send.py [--password] PORT REQUESTS SENDERS TRUTH [OTLP_PORT]

Routes take turns; each request's trace ID begins with the number of its route,
so that a sample in a route's code with another's ID shows. TRUTH gets a line
for each request: trace ID, route, when it was sent and answered (Unix ns).
With OTLP_PORT each is told there as a span of this client's. With --password
the trace ID is the password of the request, too, which is refused.
"""
import base64
import http.client
import json
import sys
import threading
import time

ROUTES = ["alpha", "beta", "gamma"]


def span(trace, own, route, start, end):
    return {"traceId": trace, "spanId": own, "name": "GET /" + route, "kind": 3,
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
            "attributes": [{"key": "http.route",
                            "value": {"stringValue": "/" + route}}]}


def export(port, spans):
    body = json.dumps({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {
            "stringValue": "client"}}]},
        "scopeSpans": [{"spans": spans}]}]})
    to = http.client.HTTPConnection("127.0.0.1", port)
    to.request("POST", "/v1/traces", body,
               {"Content-Type": "application/json"})
    answer = to.getresponse()
    if answer.status != 200:
        sys.exit("spans refused: %d %s" % (answer.status, answer.read()))


def headers(trace, own, is_password):
    told = {"traceparent": "00-%s-%s-01" % (trace, own)}
    if is_password:
        told["Authorization"] = "Basic " + base64.b64encode(
            ("user:" + trace).encode()).decode()
    return told


def main():
    is_password = sys.argv[1] == "--password"
    if is_password:
        del sys.argv[1]
    expected = 401 if is_password else 200
    port, requests, senders = map(int, sys.argv[1:4])
    numbers = iter(range(requests))
    lines, spans, failed = [], [], []
    lock = threading.Lock()

    def send():
        while True:
            with lock:
                n = next(numbers, None)
            if n is None:
                return
            route = ROUTES[n % len(ROUTES)]
            trace = "%02x%030x" % (n % len(ROUTES) + 1, n + 1)
            own = "%016x" % (n + 1)
            start = time.time_ns()
            to = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            to.request("GET", "/" + route,
                       headers=headers(trace, own, is_password))
            answer = to.getresponse()
            answer.read()
            end = time.time_ns()
            to.close()
            with lock:
                if answer.status != expected:
                    failed.append((n, answer.status))
                lines.append("%s\t%s\t%d\t%d" % (trace, route, start, end))
                spans.append(span(trace, own, route, start, end))

    threads = [threading.Thread(target=send) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit("not answered with %d: %s" % (expected, failed[:5]))
    with open(sys.argv[4], "w") as out:
        out.write("\n".join(lines) + "\n")
    if len(sys.argv) > 5:
        for at in range(0, len(spans), 100):
            export(int(sys.argv[5]), spans[at:at + 100])


main()
