"""The rows of a machine's memory are drawn as rows, in every view; the inputs of a tape as inputs."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seq2see.config.load import load_config
from seq2see.data.pairs import Pairs
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.text_attention import explain_text
from seq2see.nn.ntm_head import NtmHead
from seq2see.render.terminal.terminal_heatmap import render_terminal
from seq2see.tasks.transduction import Transduction

TEXTS = ["a b c d", "b a"]


def look(preset: str, *, still: bool = False, **model: dict[str, object]) -> AttentionTrace:
    """What a small random model of a preset looks at; `still` keeps all heads where they are."""
    half = {"size": 6, "embedding_size": 4}
    halves = {name: {**half, **model.get(name, {})} for name in ("encoder", "decoder")}
    config = load_config(base={"preset": preset, "model": halves, "data": {"train": "x"}}).config
    task = Transduction.learn(config, Pairs(TEXTS, TEXTS))
    built = task.build(config)
    for head in (each for each in built.modules() if still and isinstance(each, NtmHead)):
        head.addressing.weight.data.zero_()
        head.addressing.bias.data[-5:] = torch.tensor(
            [-50.0, -50.0, 50.0, -50.0, 5.0]
        )  # gate, back, stay, on, sharpness
    return explain_text(task, built, TEXTS[0], task.target.encode("b c").ids)


@pytest.fixture(scope="module")
def machine() -> AttentionTrace:
    return look("ntm2014", encoder={"rows": 5})


def test_rows_have_labels_of_their_own(machine: AttentionTrace) -> None:
    sides = {each.name: (each.queries, each.keys, each.weights.shape[1:]) for each in machine.maps}
    assert sides == {
        "encoder.write_head": ("source", "memory_rows", (5, 5)),
        "encoder.read_head": ("source", "memory_rows", (5, 5)),
        "decoder.read_head": ("target", "memory_rows", (3, 5)),
    }
    assert [token.text for token in machine.tokens("memory_rows")] == [
        f"row\N{NARROW NO-BREAK SPACE}{row}" for row in range(5)
    ]


def test_rows_are_drawn_in_every_view(machine: AttentionTrace, tmp_path: Path) -> None:
    header = render_terminal(machine, width=60).plain.split("\n")[1:6]
    assert [line.split() for line in header] == [list("rrrrr"), list("ooooo"), list("wwwww"), [], list("01234")]
    assert machine.renderer.save(machine, tmp_path / "rows.png", name="all").stat().st_size > 5_000
    assert "row\\u202f" in machine._repr_html_()
    assert [row["text"][-1] for row in json.loads(machine.to_json())["memory_rows"]] == list("01234")


def test_rows_that_nobody_used_are_left_out() -> None:
    trace = look("ntm2014", still=True, encoder={"rows": 60})
    assert [token.text[-1] for token in trace.memory_rows] == ["0"]
    assert trace.maps[-1].weights == pytest.approx(np.ones((1, 3, 1)))


def test_a_tape_is_a_look_back_at_the_inputs() -> None:
    trace = look("lstmn2016")
    sides = {each.name: (each.queries, each.keys) for each in trace.maps}
    assert sides["encoder.layers.0.self_attention"] == ("source", "source")
    assert sides["decoder.layers.0.cell.self_attention"] == ("target", "inputs")
    assert trace.weights.shape == (len(trace.target_tokens), len(trace.source_tokens))
    assert trace._repr_html_()  # every map has the shape of its sides
