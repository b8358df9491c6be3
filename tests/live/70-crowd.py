# SPDX-License-Identifier: MIT
"""Send spans to PORT among others who take all there is: "slow" all connections,
with a word now and then and no end; "large" all memory, with parts of bodies. One
line for each answer."""
import socket
import sys
import threading
import time
import urllib.request

address = ("127.0.0.1", int(sys.argv[1]))
crowd = []


def ask(body):
    request = urllib.request.Request(
        "http://127.0.0.1:%d/v1/traces" % address[1], data=body,
        headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        print("answered", answer.status)


def connect(first):
    crowd.append(socket.create_connection(address))
    crowd[-1].sendall(b"POST /v1/traces HTTP/1.1\r\n" + first)


def trickle():
    while True:
        for one in crowd[:]:
            try:
                one.sendall(b"X-Slow: yes\r\n")
            except OSError:
                crowd.remove(one)
                connect(b"")
        time.sleep(0.5)


if sys.argv[2] == "slow":
    for _ in range(64):
        connect(b"")
    threading.Thread(target=trickle, daemon=True).start()
    for _ in range(10):
        time.sleep(0.5)
        ask(b"{}")
else:
    for _ in range(24):
        try:
            connect(b"Host: x\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 60000000\r\n\r\n" + 50000000 * b" ")
        except OSError:
            pass
    ask(3000000 * b" " + b"{}")
