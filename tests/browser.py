"""A browser for tests: Debian's chromium, spoken to through a pipe (the DevTools protocol), with nothing in between."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb"]
FLAGS += ["--remote-debugging-pipe"]


def find_browser() -> str | None:
    """The browser of this machine, or the one that $SEQ2SEE_BROWSER names."""
    named = os.environ.get("SEQ2SEE_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser."""

    def __init__(self, command: Sequence[str]) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        script = f'exec "$@" 3<&{to_read} 4>&{to_write}'  # the browser listens on 3 and answers on 4
        self.process = subprocess.Popen(
            ["bash", "-c", script, "browser", *command], pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self.number, self.answers = 0, dict[int, Any]()
        self.events: list[dict[str, Any]] = []
        self._arrived: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session: str | None = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    session: str | None = None

    def _listen(self) -> None:
        rest = b""
        while chunk := os.read(self._read, 1 << 20):
            *messages, rest = (rest + chunk).split(b"\0")
            for message in messages:
                self._arrived.put(json.loads(message))

    def send(self, method: str, **params: Any) -> Any:
        """Say something to the browser and wait for its answer."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while number not in self.answers:
            self._take(180)
        answer = self.answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _take(self, seconds: float) -> None:
        message = self._arrived.get(timeout=seconds)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.events.append(message)

    def open(self, address: str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Go to a page, on a screen of some size."""
        self.resize(width, height)
        self.set_dark(dark)
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        """Another screen."""
        phone = width < 600
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.send("Emulation.setTouchEmulationEnabled", enabled=phone)

    def set_dark(self, dark: bool) -> None:
        """What the system prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str, *, seconds: float = 180) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < until, f"{script} never came true; the page says: {self.text()[:2000]}"
            time.sleep(0.05)

    def text(self) -> str:
        """All text of the page."""
        return str(self.run("document.body.innerText"))

    def place(self, selector: str, number: int = 0) -> tuple[float, float]:
        """Where the middle of an element is, after it was scrolled into view."""
        spot = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.wait(f"{spot} !== undefined")
        self.run(f"{spot}.scrollIntoView({{block: 'center', inline: 'center'}})")
        x, y = self.run(
            f"(() => {{ const r = {spot}.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }})()"
        )
        return x, y

    def hover(self, selector: str, number: int = 0) -> None:
        """Point at an element."""
        x, y = self.place(selector, number)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str, number: int = 0) -> None:
        """Click on an element."""
        x, y = self.place(selector, number)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, selector: str, number: int = 0) -> None:
        """Touch an element with a finger, on a screen that can be touched."""
        x, y = self.place(selector, number)
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def type(self, text: str) -> None:
        """Type where the focus is."""
        self.send("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)

    def choose(self, selector: str, text: str) -> None:
        """Choose an option by what it says."""
        self.run(
            f"(() => {{ const s = document.querySelector({json.dumps(selector)});"
            f" s.value = [...s.options].find((o) => o.textContent === {json.dumps(text)}).value;"
            " s.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def shoot(self, file: Path | str, *, whole: bool = True) -> None:
        """An image of the page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        Path(file).write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """What the page found wrong: exceptions, refused resources, broken promises."""
        with suppress(Empty):
            while True:
                self._take(0.05)
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in kinds]


@contextmanager
def browse() -> Iterator[Browser]:
    """A browser for a while."""
    path = find_browser()
    assert path is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser([path, *FLAGS, f"--user-data-dir={profile}", "about:blank"])
        try:
            yield browser
        finally:
            browser.session = None
            with suppress(Exception):
                browser.send("Browser.close")
            browser.process.kill()
            browser.process.wait()
