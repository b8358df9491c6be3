# SPDX-License-Identifier: MIT
"""Chromium without a window, driven over its DevTools pipe: messages are JSON
that ends in a NUL, on descriptors 3 (to it) and 4 (from it)."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile

WAIT_S = 60


class Browser:
    def __init__(self, program="chromium", width=1280, height=900):
        self.profile = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()

        def descriptors():
            low, high = os.dup(to_read), os.dup(from_write)
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}",
             f"--window-size={width},{height}", "about:blank"],
            preexec_fn=descriptors, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(WAIT_S)
        except (EOFError, BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.rest:
            # A watchdog, not a measure.
            if not select.select([self.answers], [], [], WAIT_S)[0]:
                raise EOFError("the browser does not answer")
            got = os.read(self.answers, 1 << 20)
            if not got:
                raise EOFError("the browser has gone")
            self.rest += got
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path, fragment=""):
        """Open a file; what went before is forgotten."""
        self.call("Page.navigate", url="about:blank")
        self.events = []
        self.call("Page.navigate",
                  url=f"file://{os.path.abspath(path)}{fragment}")
        while not any(e["method"] == "Page.loadEventFired"
                      for e in self.events):
            answer = self.receive()
            if "method" in answer:
                self.events.append(answer)
        self.settle()

    def settle(self):
        """Until the page has drawn, and glides no longer."""
        self.ask("""new Promise(done => {
            const moves = () => {
                try {
                    return page.drawing.gliding || page.drawing.waiting;
                } catch { /* it did not come to be: claims will say so */
                    return false;
                } };
            const wait = () => moves() ? requestAnimationFrame(wait) : done();
            requestAnimationFrame(() => requestAnimationFrame(wait)); })""")

    def ask(self, expression):
        """The value of an expression, or of the promise that it makes."""
        got = self.call("Runtime.evaluate", expression=expression,
                        returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def text(self, name):
        """What an element shows; empty where it is hidden."""
        return self.ask(f"(e => e.checkVisibility() ? e.innerText : '')"
                        f"(document.getElementById({json.dumps(name)}))")

    def key(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode={"Enter": 13, "Escape": 27,
                                             "ArrowLeft": 37, "ArrowUp": 38,
                                             "ArrowRight": 39,
                                             "ArrowDown": 40}.get(key, 0))
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  button="none" if kind == "mouseMoved" else "left",
                  clickCount=0 if kind == "mouseMoved" else 1)

    def point(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)
        self.settle()

    def complaints(self):
        """What the page did wrong: exceptions, console errors, refusals of
        its content security policy, and anything that it tried to load."""
        wrong = []
        for e in self.events:
            params = e.get("params", {})
            if e["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                wrong.append(details.get("exception", {})
                             .get("description", details["text"]))
            elif e["method"] == "Runtime.consoleAPICalled" and \
                    params["type"] in ("error", "warning", "assert"):
                wrong.append(str(params["args"]))
            elif e["method"] == "Log.entryAdded" and \
                    params["entry"]["level"] in ("error", "warning"):
                wrong.append(params["entry"]["text"])
            elif e["method"] == "Network.requestWillBeSent" and \
                    not params["request"]["url"].startswith(("file:",
                                                             "about:")):
                wrong.append("loads " + params["request"]["url"])
        return wrong

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
