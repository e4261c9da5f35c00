"""Links from a trace: which map and head they come from, and how words are counted."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.explain.head_alignment import (
    HeadSelection,
    choose_units,
    default_head,
    find_head,
    link_trace,
    list_heads,
    select_weights,
)

Maker = Callable[..., AttentionTrace]


def test_every_map_and_head_is_a_choice(make_trace: Maker) -> None:
    trace = make_trace(["a", "b"], ["c"], heads=2, maps=2)
    assert [str(choice) for choice in list_heads(trace)] == [
        "decoder.0, mean of 2 heads", "decoder.0, head 1", "decoder.0, head 2",
        "decoder.1, mean of 2 heads", "decoder.1, head 1", "decoder.1, head 2",
    ]  # fmt: skip
    single = make_trace(["a", "b"], ["c"])
    assert [str(choice) for choice in list_heads(single)] == ["decoder.0"]


def test_the_default_is_the_last_map_but_one(make_trace: Maker) -> None:
    assert default_head(make_trace(["a"], ["b"], maps=1)).map == "decoder.0"
    assert default_head(make_trace(["a"], ["b"], maps=2)).map == "decoder.0"
    assert default_head(make_trace(["a"], ["b"], maps=6, heads=4)) == HeadSelection("decoder.4", 4)


def test_weights_of_a_choice(make_trace: Maker) -> None:
    trace = make_trace(["a", "b", "c"], ["d", "e"], heads=3, maps=2)
    np.testing.assert_array_equal(select_weights(trace, HeadSelection("decoder.1", 3, 2)), trace.maps[1].weights[1])
    np.testing.assert_allclose(select_weights(trace, HeadSelection("decoder.1", 3)), trace.maps[1].weights.mean(axis=0))


def test_the_weights_of_a_trace_are_the_mean_of_its_last_map_to_the_source(make_trace: Maker) -> None:
    trace = make_trace(["a", "b", "c"], ["d", "e"], heads=3, maps=2)
    own = AttentionMap("decoder.self_attention", np.full((1, 2, 2), 0.5, dtype=np.float32), keys="inputs")
    one, two, three = trace.maps[1].weights
    np.testing.assert_allclose(replace(trace, maps=(*trace.maps, own)).weights, (one + two + three) / 3, rtol=1e-6)
    with pytest.raises(AttentionError, match="no attention from target to source"):
        _ = replace(trace, maps=(own,)).weights


def test_a_wrong_choice_is_one_sentence(make_trace: Maker) -> None:
    trace = make_trace(["a"], ["b"], heads=2, maps=2)
    assert find_head(trace, None, 2) == HeadSelection("decoder.0", 2, 2)
    with pytest.raises(AttentionError, match=r"no attention map named 'decodr\.1'; did you mean 'decoder\.1'"):
        find_head(trace, "decodr.1", None)
    with pytest.raises(AttentionError, match="has the heads 1 to 2; got 3"):
        find_head(trace, "decoder.1", 3)


def test_links_leave_marks_out() -> None:
    # the end mark gets most of every row, and still links go to words only
    source = (Token("ab", 0, 2), Token("c", 3, 4), Token("</s>", 4, 4))
    target = (Token("x", 0, 1), Token("yz", 2, 4), Token("</s>", 4, 4))
    weights = np.array([[[0.1, 0.3, 0.6], [0.3, 0.1, 0.6], [0.4, 0.4, 0.2]]], dtype=np.float32)
    trace = AttentionTrace("ab c", "x yz", source, target, (AttentionMap("attend", weights),))
    assert link_trace(trace, list_heads(trace), ("words", "words")) == [{(1, 0), (0, 1)}]
    assert link_trace(trace, list_heads(trace), ("characters", "words")) == [{(2, 0), (0, 1)}]


def test_each_side_has_its_own_unit() -> None:
    assert choose_units(["3rd of May 1979"], ["1979-05-03"]) == ("words", "characters")
