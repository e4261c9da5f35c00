"""What if: each control of the page sends what it says, shows before and after, and can be taken back."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from scripted import Json, Reply, Script, make_answer, make_line, make_model
from test_page_requests import ALERT, NEXT, SHOWN, STATUS, ask, opened

from browser import Browser
from seen import click_switch, name_colour, read_colours, read_texts
from seq2see.render.colours import WARM_LIGHT

TWO = "document.querySelectorAll('.output').length === 2"
FOCUS = "document.activeElement"


def answer(body: Json) -> Reply:
    """An answer that shows what was asked for."""
    target = body.get("prefix") or "".join(f"{each} " for each in body.get("prefix_ids", [])) or None
    if body.get("interventions"):
        target = "changed"
    return Reply(make_answer(body.get("text", "image"), target, model=body["model"]))


def start(*models: Json, **fields: Any) -> Script:
    return Script(models or (make_model(),), answers={"/v1/explain": answer}, **fields)


def wait_for(browser: Browser, script: Script, count: int) -> None:
    """Wait until so many requests have been answered."""
    browser.wait(f"{STATUS} === ''", seconds=20)
    assert len(script.bodies("/v1/explain")) == count


def find_last(script: Script, name: str) -> Json:
    """The last request with a field; two requests that stand side by side come in any order."""
    return next(body for body in reversed(script.bodies("/v1/explain")) if name in body)


def click_and_wait(browser: Browser, selector: str, number: int = 0) -> None:
    """Click on something that asks again."""
    mark(browser)
    browser.click(selector, number)
    browser.wait(NEXT, seconds=20)


def mark(browser: Browser) -> None:
    browser.run("document.querySelectorAll('.output').forEach((each) => each.setAttribute('data-old', ''))")


def test_a_token_of_the_output_is_chosen_or_typed(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        browser.click("th.target", 2)
        assert read_texts(browser, "dialog h2") == ["Instead of “a”, write"]
        assert read_texts(browser, ".choices button") == ["a60.0%", "q30.0%", "w<0.1%"]
        assert read_texts(browser, ".choices .own bdi") == ["a"]
        click_and_wait(browser, ".choices button", 1)
        assert browser.run("document.querySelector('dialog')") is None
        wait_for(browser, script, 3)
        assert find_last(script, "prefix_ids")["prefix_ids"] == [0, 10, 21]  # of the first two, and the chosen one
        assert sum("prefix_ids" in body for body in script.bodies("/v1/explain")) == 1  # the one before has none
        assert read_texts(browser, ".output .heading") == ["before", "after"]
        browser.click(".output[data-view='0'] th.target", 2)
        mark(browser)
        browser.type("xy")
        browser.press("Enter")
        browser.wait(NEXT, seconds=20)
        wait_for(browser, script, 5)
        last = find_last(script, "prefix")
        assert (last["prefix"], last.get("prefix_ids")) == ("edxy", None)  # what was typed, and no choice of the list
        assert read_texts(browser, ".chip") == ["the output begins as you said ✕"]
        assert read_texts(browser, ".changes del") == ["edaf!"]
        assert read_texts(browser, ".changes ins") == ["edxy"]
        click_and_wait(browser, ".chip")
        wait_for(browser, script, 7)
        assert not any("prefix" in body for body in script.bodies("/v1/explain")[5:])
        browser.click(".output[data-view='0'] th.target", 1)
        click_and_wait(browser, ".choices button", 2)
        ask(browser, "bed")  # nothing of an old what-if stays
        browser.wait(f"{NEXT} && !({TWO})", seconds=20)
        assert script.bodies("/v1/explain")[-1] == {"model": "one", "text": "bed", "top_tokens": 8, "history": True}


def test_a_dialog_is_left_without_a_change(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        for leave in (lambda: browser.press("Escape"), lambda: browser.click("dialog .buttons button", 1)):
            browser.click("th.source", 1)
            assert browser.run(f"{FOCUS}.value") == "a"
            leave()
            browser.wait("!document.querySelector('dialog')", seconds=10)
        browser.click("th.source", 4)  # the end has no text that could be another
        assert browser.run("document.querySelector('dialog')") is None
        assert len(script.bodies("/v1/explain")) == 1


def test_the_first_touch_shows_and_the_second_changes(browser: Browser) -> None:
    with opened(browser, start(), width=390, height=844):
        ask(browser, "fade")
        browser.wait(NEXT)
        browser.tap("th.target", 2)
        told = "document.querySelector('.readout').textContent"
        browser.wait(f"{told}.startsWith('a, 88% sure, attends to')", seconds=10)
        assert browser.run("document.querySelector('dialog')") is None
        browser.tap("th.target", 2)
        browser.wait("document.querySelector('dialog')", seconds=10)
        assert read_texts(browser, "dialog h2") == ["Instead of “a”, write"]
        browser.tap("dialog .buttons button", 1)
        browser.wait("!document.querySelector('dialog')", seconds=10)


def test_heads_are_changed_as_the_buttons_say(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        browser.run("document.querySelector('.whatif').open = true")
        assert read_texts(browser, ".whatif p b") == ["decoder.cross, all 2 heads"]
        click_and_wait(browser, ".whatif .buttons button", 1)
        wait_for(browser, script, 3)
        alike = {"map": "decoder.cross", "heads": None, "weights": "uniform"}
        sent = find_last(script, "interventions")["interventions"]
        assert [{"heads": None, **each} for each in sent] == [alike]
        browser.choose(".output[data-view='0'] .controls select", "head 2")
        assert read_texts(browser, ".whatif p b") == ["decoder.cross, head 2"]
        click_and_wait(browser, ".whatif .buttons button", 0)
        off = {"map": "decoder.cross", "heads": [2], "weights": "none"}
        assert find_last(script, "interventions")["interventions"][1:] == [off]
        browser.click(".heat")
        mark(browser)
        browser.type("2.5")
        browser.press("Enter")
        browser.wait(NEXT, seconds=20)
        changes = find_last(script, "interventions")["interventions"]
        assert changes[1:] == [{**off, "temperature": 2.5}]
        assert read_texts(browser, ".chip") == [
            "decoder.cross: looks at everything alike ✕",
            "decoder.cross, head 2: off, scores divided by 2.5 ✕",
        ]
        click_and_wait(browser, ".chip", 0)
        assert find_last(script, "interventions")["interventions"] == changes[1:]
        assert (
            sum("interventions" in body for body in script.bodies("/v1/explain")[-2:]) == 1
        )  # the one before has none


def test_changes_are_taken_back_or_kept(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        browser.click("th.source", 0)
        mark(browser)
        browser.type("Z")
        browser.press("Enter")
        browser.wait(f"{NEXT} && {TWO}", seconds=20)
        assert browser.run("document.querySelector('#text').value") == "Zade"
        assert read_texts(browser, ".chip") == ["another source ✕"]
        click_and_wait(browser, ".whatif .buttons:last-child button", 2)  # take it all back
        assert browser.run(SHOWN) == ["fade</s>"]
        assert browser.run("document.querySelector('#text').value") == "fade"
        browser.click("th.source", 1)
        mark(browser)
        browser.type("Y")
        browser.press("Enter")
        browser.wait(f"{NEXT} && {TWO}", seconds=20)
        click_and_wait(browser, ".whatif .buttons:last-child button", 1)  # go on from here
        assert browser.run(SHOWN) == ["fYde</s>"]
        assert read_texts(browser, ".chip") == []


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("greedy", {"beam": 1}),
        ("beam", {"beam": 5, "mbr_power": 0}),
        ("minimum Bayes risk", {"beam": 5, "mbr_power": 1}),
        ("sampling", {"temperature": 1}),
        ("as configured", {}),
    ],
)
def test_a_search_is_sent_with_what_it_needs(browser: Browser, name: str, sent: Json) -> None:
    script = start()
    with opened(browser, script):
        browser.run("document.querySelector('details.search').open = true")
        browser.choose(".search select", name)
        ask(browser, "fade")
        browser.wait(NEXT)
        [body] = script.bodies("/v1/explain")
        assert body == {"model": "one", "text": "fade", "top_tokens": 8, "history": True, **sent}
        if name == "beam":
            browser.run("document.querySelector('.whatif').open = true")
            mark(browser)
            browser.choose(".whatif select", "greedy")
            browser.wait(NEXT, seconds=20)
            assert sorted(body["beam"] for body in script.bodies("/v1/explain")[1:]) == [1, 5]
            assert read_texts(browser, ".chip") == ["search: greedy ✕"]


def test_two_runs_stand_side_by_side_and_follow_each_other(browser: Browser) -> None:
    broken = {"name": "broken", "error": "it has no weights."}
    image = make_model("images", source="image")
    script = start(make_model(), make_model("other"), broken, image)
    with opened(browser, script):
        assert read_texts(browser, ".ask select:first-of-type option")[:4] == [
            "one",
            "other",
            "broken (broken)",
            "images",
        ]
        assert read_texts(browser, ".ask .choice:nth-child(2) option") == ["nothing", "other"]
        browser.choose(".ask .choice:nth-child(2) select", "other")
        ask(browser, "fade")
        browser.wait(TWO)
        assert sorted(body["model"] for body in script.bodies("/v1/explain")) == ["one", "other"]
        assert read_texts(browser, ".output .heading") == ["one", "other"]
        tones = "[...document.querySelectorAll('.output .key')].map((key) => key.style.getPropertyValue('--light'))"
        assert len(set(browser.run(tones))) == 2
        browser.choose(".output[data-view='1'] .controls select", "head 2")
        chosen = (
            "[...document.querySelectorAll('.output .controls select')].map((s) => s.selectedOptions[0].textContent)"
        )
        assert browser.run(chosen) == ["head 2", "head 2"]
        browser.click(".output[data-view='0'] th.target", 1)
        mark(browser)
        browser.click(".choices button", 2)
        browser.wait(NEXT, seconds=20)
        asked = [(body["model"], body.get("prefix_ids")) for body in script.bodies("/v1/explain")[2:]]
        assert sorted(asked, key=str) == [("one", None), ("one", [0, 12]), ("other", None)]
        assert read_texts(browser, ".output .heading") == ["before", "after", "other"]
        browser.run("document.querySelectorAll('.output')[0].querySelector('[data-kind=arcs]').click()")
        assert browser.run("document.querySelectorAll('.output .arcs').length") == 3


def test_a_broken_run_is_compared_with_none(browser: Browser) -> None:
    broken = [{"name": name, "error": "it has no weights."} for name in ("bad", "worse")]
    with opened(browser, start(make_model(), *broken)):
        browser.choose(".ask select", "bad (broken)")
        browser.wait("document.querySelector('.ask select').value === '1'")
        labels = "[...document.querySelectorAll('.ask label')].map((label) => label.firstChild.textContent)"
        assert "Run" in browser.run(labels)
        assert "Compare with" not in browser.run(labels)


def test_leave_one_out_is_asked_for_by_its_switch(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        mark(browser)
        click_switch(browser, "Leave out each word in turn")
        browser.wait(NEXT, seconds=20)
        mark(browser)
        click_switch(browser, "Leave out each word in turn")
        browser.wait(NEXT, seconds=20)
        assert [body.get("leave_one_out") for body in script.bodies("/v1/explain")] == [None, True, False]
        assert all("leave_one_out" not in body for body in script.bodies("/v1/predict/stream"))


def test_everything_can_be_done_by_keys(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        browser.run("document.querySelector('#text').focus()")
        browser.type("fade")
        browser.press("Tab")
        assert browser.run(f"{FOCUS}.textContent") == "Translate"
        browser.press("Enter")
        browser.wait(NEXT)
        browser.run("document.querySelector('.tabs button').focus()")
        browser.press("ArrowRight")
        seen = "[tab.textContent, tab.ariaSelected, tab.tabIndex]"
        selected = f"[...document.querySelectorAll('[role=tab]')].map((tab) => {seen})"
        tabs = [["Heatmap", "false", -1], ["All heads", "true", 0], ["Arcs", "false", -1]]
        assert browser.run(selected) == tabs
        assert browser.run(f"{FOCUS}.textContent") == "All heads"
        browser.press("ArrowLeft")
        browser.press("ArrowLeft")
        assert browser.run(f"{FOCUS}.textContent") == "Arcs"  # around the end
        browser.press("ArrowRight")
        browser.run("document.querySelector('.grid [tabindex=\"0\"]').focus()")
        assert browser.run(f"{FOCUS}.querySelector('bdi').textContent") == "e"  # the first row
        browser.press("ArrowDown")
        browser.press("ArrowRight")
        browser.press("ArrowRight")
        grid = make_answer("fade")["maps"][0]["weights"]
        weight = sum(head[1][1] for head in grid) / 2
        assert browser.run(f"{FOCUS}.getAttribute('aria-label')") == f"d (2) attends to a (2) with weight {weight:.4f}"
        assert browser.run("document.querySelectorAll('.grid [tabindex=\"0\"]').length") == 1
        browser.press("ArrowUp")
        browser.press("ArrowUp")
        assert browser.run(f"{FOCUS}.querySelector('bdi').textContent") == "a"  # its header
        browser.press("Enter")
        assert read_texts(browser, "dialog h2") == ["Instead of “a”, read"]
        browser.type("i")
        browser.press("Enter")
        browser.wait(TWO)
        assert {body["text"] for body in script.bodies("/v1/explain")[-2:]} == {"fade", "fide"}


def test_the_address_holds_the_state(browser: Browser) -> None:
    script = start(make_model(), make_model("other"))
    request = {"model": "other", "text": "cab", "search": {"kind": "greedy"}, "interventions": []}
    with opened(browser, script) as address:
        for name, told in (("other", ""), ("gone", "The run gone of this address is not served here; this is one.")):
            state = {
                "request": {**request, "model": name},
                "look": {"kind": "arcs", "head": 1, "name": "decoder.cross"},
            }
            browser.open("about:blank")
            browser.open(f"{address}#{quote(json.dumps(state))}")
            browser.wait("document.querySelector('#text')")
            assert browser.run("document.querySelector('#text').value") == "cab"
            if told:
                browser.wait(ALERT)
                assert browser.run(STATUS) == told
                assert len(script.bodies("/v1/explain")) == 1  # nothing is asked of another run instead
            else:
                browser.wait("document.querySelector('.output .arcs')")
                assert read_texts(browser, ".output .controls option:checked") == ["head 2"]
                asked = {"model": "other", "text": "cab", "beam": 1, "top_tokens": 8, "history": True}
                assert script.bodies("/v1/explain")[-1] == asked


def test_examples_and_lines_are_asked_as_they_are(browser: Browser) -> None:
    lines = [make_line(n, f"line {n}", f"{n} out", confidence=n / 20, correct=n % 3 > 0) for n in range(1, 13)]
    lines.append(make_line(13, "line 2", "again"))
    script = start(lines=[*lines, make_line(14, " ", "")])
    with opened(browser, script):
        browser.wait("document.querySelector('.example-button')")
        assert read_texts(browser, ".example-button") == [f"line {n}" for n in (1, 3, 5, 7, 9, 11)]
        assert len(read_texts(browser, ".lines-table .inside")) == 13  # of an empty line there is nothing inside
        click_and_wait(browser, ".lines-table .inside", 4)
        assert script.bodies("/v1/explain")[-1]["text"] == "line 5"
        assert browser.run(SHOWN) == ["line 5</s>"]
        browser.run("document.querySelector('.all-lines details').open = true")
        browser.choose(".held-out select", "wrong (4)")
        assert read_texts(browser, ".lines-table .inside") == ["3", "6", "9", "12"]
        assert read_texts(browser, ".column-confidence") == ["15.0%", "30.0%", "45.0%", "60.0%"]
        click_and_wait(browser, ".lines-table tbody .column-output", 1)  # anywhere in its row
        assert script.bodies("/v1/explain")[-1]["text"] == "line 6"


def test_images_are_asked_again_if_their_pixels_were_kept(browser: Browser) -> None:
    pixels = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"
    lines = [make_line(1, "a.png", "a red wall"), make_line(2, "b.png", "a blue wall", image=pixels)]
    script = start(make_model(source="image", action="caption"), lines=lines)
    with opened(browser, script):
        browser.wait("document.querySelector('.example-button img')")
        assert browser.run("[...document.querySelectorAll('.example-button img')].map((i) => i.alt)") == ["b.png"]
        assert read_texts(browser, ".lines-table .inside") == ["2"]
        assert "The 1 with an image can be run again here." in browser.text()
        click_and_wait(browser, ".example-button")
        [asked] = script.bodies("/v1/explain")
        assert (asked["image"], "text" in asked) == (pixels, False)


def test_an_answer_is_copied_and_a_long_one_named(browser: Browser) -> None:
    with opened(browser, start()):
        ask(browser, "ab" * 40)
        browser.wait(NEXT)
        assert browser.run("document.title") == f"{'ab' * 30}… → {'ba' * 30}… · one · seq2see"
        browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        browser.click(".tools button", 0)
        browser.wait(f"{STATUS} === 'Copied.'")
        [copied] = json.loads(browser.run("window.copied"))
        assert copied["source"] == "ab" * 40
        assert copied["maps"][0]["weights"][1] == make_answer("ab" * 40)["maps"][0]["weights"][1]


def test_typing_is_not_sent_before_it_is_finished(browser: Browser) -> None:
    script = start()
    with opened(browser, script):
        browser.run("document.querySelector('#text').focus()")
        browser.press("Enter")
        browser.wait(f"{STATUS} === 'Type something first.'")
        browser.type("fa")
        keys = [{"shiftKey": True}, {"isComposing": True}]
        for each in keys:
            press = f"new KeyboardEvent('keydown', {json.dumps({'key': 'Enter', 'bubbles': True, **each})})"
            browser.run(f"document.querySelector('#text').dispatchEvent({press})")
        assert script.bodies("/v1/predict/stream") == []


def test_drops_are_painted_by_their_size(browser: Browser) -> None:
    drops = [
        {"start": n, "end": n + 1, "drop": drop, "weight": None, "text": x}
        for n, (x, drop) in enumerate(zip("fade", (0.5, -1.25, 2.0, 0.004), strict=True))
    ]
    script = start()
    script.answers["/v1/explain"] = lambda body: Reply(make_answer(body["text"], drops=drops))
    with opened(browser, script):
        ask(browser, "fade")
        browser.wait(NEXT)
        assert read_texts(browser, "tfoot .painted") == ["−0.50", "+1.3", "−2.0", "0.00"]
        shares = [name_colour(share, WARM_LIGHT) for share in (0.25, 0, 1, 0.002)]
        assert read_colours(browser, "tfoot .painted") == shares
