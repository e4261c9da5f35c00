"""Attention from replaying an output is the attention while it was written, for every search."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seq2see.config.load import load_config
from seq2see.core.special_tokens import START
from seq2see.core.trace import tracing
from seq2see.data.pairs import Pairs
from seq2see.explain.text_attention import explain_text
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.rules import Rules
from seq2see.search.sample import Sample
from seq2see.tasks.transduction import Transduction

TEXTS = ["abc dab", "bad", "a cab had a bad day", "c"]
HALF = {"size": 6, "embedding_size": 4}
LAYERS = {"size": 6, "inner_size": 8, "layers": 2, "heads": 2}
READERS = [
    {"kind": "before", "score": "additive"},
    {"kind": "after", "score": "general", "input_feeding": True},
    {"kind": "after", "score": "dot", "input_feeding": False},
    {"kind": "before", "score": "location"},
    {"kind": "bottom", "score": "additive"},
    {"kind": "gated", "score": "additive"},
    {"kind": "gated", "score": "general", "attends": "after"},
    {"kind": "before", "score": "additive", "normalise": "hard"},
    {"kind": "before", "score": "additive", "window": {"kind": "local-p", "radius": 2}},
    {"kind": "after", "score": "general", "window": {"kind": "local-m", "radius": 1}},
    {"kind": "after", "score": "dot", "input_feeding": False, "window": {"kind": "local-p", "radius": 1}},
]
MODELS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("bahdanau2015", {"encoder": {**HALF, "directions": "forward"}, "decoder": {**HALF, "reader": r}})
        for r in READERS
    ),
    ("convs2s2017", {"encoder": HALF, "decoder": HALF}),
    ("transformer-tiny", {"encoder": LAYERS, "decoder": LAYERS}),
    ("lstmn2016", {"encoder": HALF, "decoder": {**HALF, "fusion": "deep"}}),
    ("ntm2014", {"encoder": {**HALF, "rows": 7, "heads": 2}, "decoder": {**HALF, "heads": 2}}),
]


@dataclass(frozen=True)
class Prefixed:
    """A decoder's state with the tokens so far, so that weights can be filed under the output they belong to."""

    inner: Any
    prefix: Tensor


class Watched:
    """A step function that files the weights of every step by source and prefix."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.seen: dict[tuple[int, ...], dict[str, np.ndarray]] = {}

    def step(self, tokens: Tensor, state: Prefixed, fixed: Any) -> tuple[Tensor, Prefixed]:
        prefix = torch.cat([state.prefix, tokens.unsqueeze(1)], dim=1)
        with tracing(self.model) as trace:
            logits, inner = self.model.decoder.step(tokens, state.inner, fixed)
        weights = {name: trace.weights(name)[:, 0].reshape(len(tokens), -1).numpy() for name in trace.names}
        for row, key in enumerate(prefix.tolist()):
            self.seen[tuple(key)] = {name: rows[row] for name, rows in weights.items()}
        return logits, Prefixed(inner, prefix)


SEARCHES = [Beam(width=4, n_best=4), Greedy(), Sample(n_best=2, seed=3)]


@pytest.mark.parametrize(("preset", "halves"), MODELS, ids=str)
def test_replayed_attention_is_the_attention_while_stepping(preset: str, halves: dict[str, Any]) -> None:
    check_replay(preset, halves, SEARCHES[0])


@pytest.mark.parametrize("search", SEARCHES[1:], ids=lambda search: type(search).__name__)
def test_replayed_attention_is_the_attention_while_stepping_in_every_search(search: Any) -> None:
    check_replay(*MODELS[0], search)


def check_replay(preset: str, halves: dict[str, Any], search: Any) -> None:
    config = load_config(base={"preset": preset, "data": {"train": "x"}, "model": halves}).config
    task = Transduction.learn(config, Pairs(TEXTS, TEXTS))
    model = task.build(config).double()
    watched = Watched(model)

    class Prefixing:
        """The search, started with empty prefixes."""

        width = search.width

        def __call__(self, _: Any, state: Any, fixed: Any, limits: Any) -> Any:
            rows = torch.arange(len(limits.longest)).unsqueeze(1)  # the source's number comes first
            return search(watched.step, Prefixed(state, rows), fixed, limits)

    outputs = task.predict(model, TEXTS, Prefixing(), rules=Rules(min_length=4, max_length=7))
    order = sorted(range(len(TEXTS)), key=lambda row: -len(task.source.tokenizer.ids([TEXTS[row]])[0]))
    checked = 0
    for number, row in enumerate(order):  # sources are decoded longest first
        for output in outputs[row]:
            replayed = {m.name: m.weights[0] for m in explain_text(task, model, TEXTS[row], output.ids).maps}
            for position in range(len(output.ids)):
                stepped = watched.seen[(number, START, *output.ids[:position])]
                assert stepped.keys() == {name for name in replayed if name.startswith("decoder.")}
                for name, weights in stepped.items():
                    check_same(replayed[name][position], weights)
                checked += 1
    assert checked >= 4 * len(TEXTS)


def check_same(replayed: np.ndarray, stepped: np.ndarray) -> None:
    """The same weights; keys that one of them has more (padding, what is written later) weigh nothing."""
    both = min(len(replayed), len(stepped))
    np.testing.assert_allclose(replayed[:both], stepped[:both], atol=1e-6)
    assert (replayed[both:] == 0).all()
    assert (stepped[both:] == 0).all()
