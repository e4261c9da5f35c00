"""Tokens of an output as they become certain, from what a search says step by step."""

from collections.abc import Mapping
from math import exp, log
from typing import Any
from unittest.mock import Mock

import pytest

from seq2see.core.special_tokens import END, UNKNOWN
from seq2see.data.trainable_tokenizers import Characters, Words
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.search.hypothesis import Hypothesis
from seq2see.serve.stream import TokenStream, count_common, format_event

LETTERS = Characters().learn(["abcd"])
IDS = {letter: LETTERS.ids([letter])[0][0] for letter in "abcd"}


def say(text: str, *, ended: bool = False) -> Hypothesis:
    """A hypothesis whose tokens have the probabilities 0.9, 0.8 and so on; ? is an unknown one."""
    ids = [UNKNOWN if letter == "?" else IDS[letter] for letter in text] + [END] * ended
    return Hypothesis(tuple(ids), tuple(log(0.9 - place / 10) for place in range(len(ids))), 0.0, ended)


class Sent:
    """What was sent so far."""

    def __init__(self, *, replaces: bool = False) -> None:
        self.run = Mock(Run, transduction=(Mock(target=LETTERS), Mock()))
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        self.stream = TokenStream(self.run, lambda name, data: self.events.append((name, data)), replaces=replaces)

    def after(self, *contenders: Hypothesis) -> list[tuple[Any, ...]]:
        """What one step of the search adds."""
        before = len(self.events)
        self.stream(contenders)
        return [
            (data["index"], data["id"], data["text"], pytest.approx(data["confidence"]))
            if name == "token"
            else (data["text"], data["certain"])
            for name, data in self.events[before:]
        ]


def test_a_token_is_sent_once_all_contenders_have_it() -> None:
    sent = Sent()
    assert sent.after(say("ab"), say("ac")) == [(0, IDS["a"], "a", 0.9), ("ab", 1)]
    assert sent.after(say("acb"), say("acd"), say("ac", ended=True)) == [(1, IDS["c"], "c", 0.8), ("acb", 2)]
    assert sent.after(say("acb"), say("acdd")) == []  # nothing is new
    assert sent.after(say("acdd"), say("acb")) == [("acdd", 2)]
    assert sent.after(say("acdd")) == [(2, IDS["d"], "d", 0.7), (3, IDS["d"], "d", 0.6)]


def test_one_contender_sends_every_token_and_no_draft() -> None:
    sent = Sent()
    assert sent.after(say("a")) == [(0, IDS["a"], "a", 0.9)]
    assert [name for name, _ in sent.events] == ["token"]
    assert sent.after(say("ab", ended=True))[0] == (1, IDS["b"], "b", 0.8)
    assert [(data["start"], data["end"]) for _, data in sent.events] == [(0, 1), (1, 2), (2, 2)]


@pytest.mark.parametrize(("replaces", "count"), [(True, 1), (False, 3)])
def test_nothing_behind_an_unknown_word_is_sent_before_it_is_replaced(replaces: bool, count: int) -> None:
    sent = Sent(replaces=replaces)
    assert len(sent.after(say("a?b"))) == count
    output = say("a?b", ended=True)
    tokens = LETTERS.tokens(output.tokens, unknown=["x"], confidences=[exp(each) for each in output.logprobs])
    sent.stream.finish(Prediction("axb", 0.0, tokens, output.tokens, "s", run=sent.run))
    assert [data["index"] for _, data in sent.events] == [0, 1, 2, 3]
    assert [data["id"] for _, data in sent.events] == list(output.tokens)
    assert sent.events[1][1]["text"] == ("x" if replaces else LETTERS.tokens(output.tokens)[1].text)


def test_what_is_certain_of_a_draft_is_counted_in_letters() -> None:
    words = Words(min_count=1).learn(["ab cd ef"])
    sent = Sent()
    sent.run.transduction[0].target = words  # type: ignore[misc, assignment]
    first, second = (tuple(words.ids([text])[0][:-1]) for text in ("ab cd", "ab ef"))
    sent.stream([Hypothesis(ids, (-0.5, -0.7), 0.0, False) for ids in (first, second)])
    assert sent.events[-1] == ("draft", {"text": "ab cd", "certain": 2})
    assert [data["text"] for name, data in sent.events if name == "token"] == ["ab"]


def test_what_sequences_have_in_common_is_their_beginning() -> None:
    assert count_common([(1, 2, 3), (1, 2, 4), (1, 2)]) == 2
    assert count_common([(1, 2, 3)]) == 3
    assert count_common([(1, 5, 3), (2, 5, 3)]) == 0
    assert count_common([(1, 2, 9, 4), (1, 2, 8, 4)]) == 2
    assert count_common([(), (1,)]) == 0


def test_an_event_has_a_name_a_line_of_data_and_a_blank_line() -> None:
    assert format_event("token", {"text": "é\n"}) == 'event: token\ndata: {"text": "é\\n"}\n\n'
