"""What the page does with answers that are late, broken or none, against a server that a test writes."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scripted import EVENTS, HTML, Flow, Json, Reply, Script, make_answer, make_line, make_model, playing

from browser import Browser
from seen import READ_GRID, read_texts

STATUS = "document.querySelector('.status').textContent"
ALERT = "document.querySelector('.status[role=alert]')"
NEXT = "document.querySelector('.output:not([data-old])')"
SHOWN = "[...document.querySelectorAll('.output .named:nth-child(1) .raw')].map((p) => p.textContent)"


@contextmanager
def opened(browser: Browser, script: Script, **screen: Any) -> Iterator[str]:
    """The page of a script, in the browser, which must throw nothing."""
    with playing(script) as address:
        browser.open("about:blank")
        browser.open(address, **screen)
        browser.wait("document.querySelector('.ask')")
        yield address
        kinds = ("Runtime.exceptionThrown",)
        browser.complaints()  # also those of answers with a status that is no success, which are wanted here
        assert [event for event in browser.events if event["method"] in kinds] == []
        browser.open("about:blank")


def ask(browser: Browser, text: str) -> None:
    browser.run("document.querySelector('.output')?.setAttribute('data-old', '')")
    browser.run("document.querySelector('#text').select()")
    browser.type(text)
    browser.press("Enter")


def say_no(status: int, content: Any, kind: str = HTML) -> Reply:
    return Reply(content, status, kind)


TOO_LARGE = "The request is too large for this server; shorten the text, or take a smaller image."
TOO_MANY = "The server has too many requests; try again in a moment."
BUSY = "The server is busy, or not there yet (status {}); try again in a moment."
GARBLED = "What the server sent cannot be read; something between it and this page may have changed it."
LOST = "The server cannot be reached; is it still running?"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (say_no(413, "<h1>Request Entity Too Large</h1>"), TOO_LARGE),
        (say_no(429, "<h1>Too Many Requests</h1>"), TOO_MANY),
        (say_no(502, ""), BUSY.format(502)),
        (say_no(503, "<h1>Service Unavailable</h1>"), BUSY.format(503)),
        (say_no(504, "<h1>Gateway Time-out</h1>"), BUSY.format(504)),
        (say_no(500, "oh"), "The server responded with status 500."),
        (Reply({"error": "the queue has 64 requests; try again."}, 503), "The queue has 64 requests; try again."),
        (Reply({"error": {"code": 7}}, 429), TOO_MANY),
        (Reply(None, 504), BUSY.format(504)),
        (Reply('{"model": "one", "sour', 200), GARBLED),
        (Reply("<p>Log in to this network</p>", 200, HTML), GARBLED),
        (Reply(hangs_up=True), LOST),
    ],
)
@pytest.mark.parametrize("path", ["/v1/explain", "/v1/predict/stream"])
def test_what_went_wrong_is_one_sentence(browser: Browser, path: str, reply: Reply, told: str) -> None:
    if path.endswith("stream") and reply.status == 200 and not reply.hangs_up:
        reply = Reply("event: token\ndata: {\n\n", kind=EVENTS)
    script = Script([make_model()])
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        assert not browser.run(f"Boolean({ALERT})")
        script.answers[path] = lambda _: reply
        ask(browser, "bc")
        browser.wait(ALERT)
        assert browser.run(STATUS) == told
        assert browser.run(SHOWN) == ["fade</s>"]  # what was there stays
        assert browser.run("getComputedStyle(document.querySelector('.status')).color") == "rgb(163, 51, 31)"
        del script.answers[path]
        ask(browser, "dab")
        browser.wait(NEXT)
        browser.wait(f"!{ALERT}")
        assert browser.run(STATUS) == ""
        assert browser.run(SHOWN) == ["dab</s>"]


def test_runs_and_lines_that_cannot_be_read_are_told(browser: Browser) -> None:
    script = Script([make_model()], answers={"/v1/held-out": lambda _: Reply({"error": "the file is cut."}, 409)})
    with opened(browser, script):
        browser.wait("document.querySelector('.greeting p')")
        assert read_texts(browser, ".greeting p") == ["No examples: The file is cut."]
    script = Script([], answers={"/v1/models": lambda _: Reply("", 503)})
    with playing(script) as address:
        browser.open(address)
        browser.wait(ALERT)
        assert browser.run(STATUS) == BUSY.format(503)


def test_the_token_is_asked_for_again_after_a_wrong_one(browser: Browser) -> None:
    script = Script([make_model()], needs_token="right")
    with opened(browser, script):
        browser.wait("document.querySelector('#token')")
        assert not browser.run(f"Boolean({ALERT})")
        assert browser.run("document.activeElement.id") == "token"
        browser.type("left")
        browser.press("Enter")
        browser.wait(ALERT)
        assert browser.run(STATUS) == "That token is not the right one."
        browser.wait("document.querySelector('#token').value === ''")
        browser.type("right")
        browser.press("Enter")
        browser.wait("document.querySelector('#text')")
        ask(browser, "abc")
        browser.wait(NEXT)
        assert script.tokens[0] is None
        assert set(script.tokens[-2:]) == {"Bearer right"}
        script.needs_token = "another"
        ask(browser, "fed")
        browser.wait("document.querySelector('#token')")
        assert browser.run("document.querySelector('#text')") is None


def token(text: str, start: int, confidence: float) -> Json:
    return {"text": text, "start": start, "end": start + len(text), "confidence": confidence}


def test_tokens_are_shown_as_they_come_and_end_with_the_answer(browser: Browser) -> None:
    flow = Flow()
    script = Script([make_model()], answers={"/v1/predict/stream": lambda _: flow})
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(f"{STATUS} === 'Translating …'")
        flow.send("start", {"model": "one"})
        flow.send("token", token("öl", 0, 0.8765))
        browser.wait("document.querySelectorAll('.said').length === 1")
        said = (
            "[...document.querySelectorAll('.said')]"
            ".map((s) => [s.firstChild.textContent, s.title, s.querySelector('small').textContent])"
        )
        assert browser.run(said) == [["öl", "87.65 %", "88%"]]
        flow.send("draft", {"text": "öl und gas", "certain": 2})
        browser.wait("document.querySelector('.draft').textContent === ' und gas'")
        whole = f"event: token\ndata: {json.dumps(token('mühe', 3, 0.25), ensure_ascii=False)}\n\n".encode()
        middle = whole.index("ü".encode()) + 1  # inside a letter of two bytes, and inside an event
        flow.write(whole[:middle])
        browser.run("new Promise((done) => setTimeout(done, 100))")
        assert len(browser.run(said)) == 1
        flow.write(whole[middle:])
        browser.wait("document.querySelectorAll('.said').length === 2")
        assert browser.run(said)[1] == ["mühe", "25.00 %", "25%"]
        assert browser.run("document.querySelector('.draft').textContent") == ""
        assert browser.run("document.querySelector('.spoken').textContent") == "öl88% mühe25%"  # with a gap
        assert script.bodies("/v1/explain") == []
        flow.send("done", {"model": "one", "output": {}})
        flow.end()
        browser.wait(NEXT)
        assert not browser.run("document.querySelector('.spoken').checkVisibility()")
        assert browser.run(STATUS) == ""
        assert browser.run("document.title") == "fade → edaf! · one · seq2see"


def test_an_error_in_a_stream_is_told_and_what_was_said_stays(browser: Browser) -> None:
    flow = Flow()
    with opened(browser, Script([make_model()], answers={"/v1/predict/stream": lambda _: flow})):
        ask(browser, "fade")
        flow.send("token", token("ab", 0, 0.5))
        browser.wait("document.querySelector('.said')")
        flow.send("error", {"error": "the limit of 30 seconds has passed."})
        browser.wait(ALERT)
        assert browser.run(STATUS) == "The limit of 30 seconds has passed."
        assert read_texts(browser, ".said") == ["ab50%"]
        assert browser.run("document.querySelector('.spoken').checkVisibility()")
        flow.end()


def test_a_new_request_ends_the_old_one(browser: Browser) -> None:
    flows = {"fade": Flow(), "bed": Flow()}
    script = Script([make_model()], answers={"/v1/predict/stream": lambda body: flows[body["text"]]})
    with opened(browser, script):
        ask(browser, "fade")
        flows["fade"].send("token", token("old", 0, 0.5))
        browser.wait("document.querySelector('.said')")
        ask(browser, "bed")
        assert flows["fade"].gone.wait(20)  # the server need not go on
        flows["bed"].send("token", token("new", 0, 0.5))
        browser.wait("document.querySelector('.said')?.textContent.startsWith('new')")
        assert len(read_texts(browser, ".said")) == 1
        flows["bed"].end()
        browser.wait(NEXT)
        assert browser.run(SHOWN) == ["bed</s>"]
        assert [body["text"] for body in script.bodies("/v1/explain")] == ["bed"]
        assert browser.run(STATUS) == ""


def test_an_answer_of_the_run_before_is_not_shown(browser: Browser) -> None:
    flow = Flow()
    text, image = make_model(), make_model("two", source="image", action="caption")
    with opened(browser, Script([text, image], answers={"/v1/predict/stream": lambda _: flow})):
        ask(browser, "fade")
        flow.send("token", token("old", 0, 0.5))
        browser.wait("document.querySelector('.said')")
        browser.choose(".ask select", "two")
        browser.wait("document.querySelector('#image')")
        assert flow.gone.wait(20)
        flow.end()
        browser.run("new Promise((done) => setTimeout(done, 100))")
        assert read_texts(browser, ".said") == []
        assert browser.run("document.querySelector('.output')") is None
        assert browser.run(STATUS) == ""
        assert read_texts(browser, ".ask .primary") == ["Caption"]


def test_lines_of_the_run_before_are_not_shown(browser: Browser) -> None:
    script = Script([make_model(), make_model("two")], [make_line(1, "fade", "edaf")])
    with opened(browser, script):
        browser.wait("document.querySelector('.example-button')")
        script.lines = [make_line(4, "cab", "bac")]
        browser.choose(".ask select", "two")
        browser.wait("document.querySelector('.example-button')?.textContent === 'cab'")
        assert read_texts(browser, ".lines-table .inside") == ["4"]
        late, known = threading.Event(), make_line(7, "dab", "bad")
        one, two = ({"model": name, "data": "test data", "count": 1} for name in ("one", "two"))

        def answer(body: Json) -> Reply:
            if body["model"] == "one":
                late.wait(20)
                return Reply({**one, "lines": [make_line(9, "late", "etal")]})
            return Reply({**two, "lines": [known]})

        script.answers["/v1/held-out"] = answer
        browser.choose(".ask select", "one")
        browser.choose(".ask select", "two")
        browser.wait("document.querySelector('.example-button')?.textContent === 'dab'")
        late.set()
        browser.run("new Promise((done) => setTimeout(done, 200))")
        assert read_texts(browser, ".lines-table .inside") == ["7"]


def test_what_is_shown_are_the_numbers_of_the_answer(browser: Browser) -> None:
    script = Script([make_model()])
    with opened(browser, script):
        ask(browser, "fad")
        browser.wait(NEXT)
        answer = make_answer("fad")
        weights = np.array(answer["maps"][0]["weights"])
        np.testing.assert_allclose(browser.run(READ_GRID), weights.mean(axis=0), atol=1e-9)
        for head in range(2):
            browser.choose(".trace .controls select", f"head {head + 1}")
            np.testing.assert_allclose(browser.run(READ_GRID), weights[head], atol=1e-12)
        assert read_texts(browser, ".output > .small") == ["score -0.4567 (0 is certain)"]
        assert read_texts(browser, "th.target .confidence") == ["90%", "89%", "88%", "87%", "86%"]
        [asked] = script.bodies("/v1/explain")
        assert asked == {"model": "one", "text": "fad", "top_tokens": 8, "history": True}
        assert script.bodies("/v1/predict/stream") == [{"model": "one", "text": "fad"}]
