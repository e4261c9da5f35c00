"""With several maps and heads, the one that agrees best with gold is found, and what is asked for is taken."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2see.config.load import load_config
from seq2see.core.token import Token
from seq2see.data.pairs import Pairs
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.metrics.alignment import read_links
from seq2see.runs import word_alignment as module
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run
from seq2see.runs.word_alignment import align_pairs
from seq2see.tasks.transduction import Transduction

TEXT = "a b c"
PAIRS = Pairs([TEXT] * 3, [TEXT] * 3)
BACKWARD = "0-2 1-1 2-0"
UNIFORM, STUCK = np.full((4, 4), 0.25), np.eye(4)[[0, 0, 0, 0]]
FORWARD, TURNED = np.eye(4), np.eye(4)[[2, 1, 0, 3]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose three layers of two heads each look where we say: only one head turns the words round."""
    tokens = (*(Token(char, place, place + 1) for place, char in enumerate(TEXT) if char != " "), Token("</s>", 5, 5))
    layers = [(UNIFORM, UNIFORM), (FORWARD, FORWARD), (STUCK, TURNED)]
    maps = [AttentionMap(f"decoder.{n}.cross", np.array(heads, dtype=np.float32)) for n, heads in enumerate(layers)]

    def replay(task: Any, model: Any, given: Any) -> Iterator[tuple[int, AttentionTrace]]:
        for place in reversed(range(len(given))):
            yield place, AttentionTrace(TEXT, TEXT, tokens, tokens, tuple(maps))

    monkeypatch.setattr(module, "trace_cross_attention", replay)
    config = load_config(base={"preset": "bahdanau2015", "data": {"train": "x"}}).config
    task = Transduction.learn(config, PAIRS)
    return Run(RunFolder(Path("nowhere")), config, task, task.build(config))


def test_the_best_head_by_gold_is_found(run: Run) -> None:
    found = align_pairs(run, PAIRS, [read_links(BACKWARD)] * 3)
    assert found.ranked is not None
    assert len(found.ranked) == 9  # three maps, each with its mean and two heads
    assert (found.chosen.map, found.chosen.head) == ("decoder.2.cross", 2)
    assert found.ranked[found.chosen].aer == 0
    assert found.why == "the best by AER"
    assert found.links == [read_links(BACKWARD).sure] * 3


def test_without_gold_the_last_map_but_one_is_taken(run: Run) -> None:
    found = align_pairs(run, PAIRS)
    assert str(found.chosen) == "decoder.1.cross, mean of 2 heads"
    assert found.links == [{(0, 0), (1, 1), (2, 2)}] * 3
    assert (found.why, found.ranked) == ("the default", None)


def test_what_is_asked_for_is_taken_with_gold_too(run: Run) -> None:
    found = align_pairs(run, PAIRS, [read_links(BACKWARD)] * 3, name="decoder.1.cross", head=1)
    assert str(found.chosen) == "decoder.1.cross, head 1"
    assert found.ranked is not None
    # of three links one is right: 1 - (1 + 1) / (3 + 3)
    assert found.ranked[found.chosen].aer == pytest.approx(100 * (1 - 2 / 6))
    assert found.why == "as asked"
