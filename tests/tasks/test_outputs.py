"""How sure an output is, and what a task says of itself."""

import math

import pytest

from seq2see.core.errors import Seq2SeeError
from seq2see.core.token import Token
from seq2see.data.modalities.label_set import Labels
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Characters
from seq2see.explain.forced_output import ForcedOutput, encode_target
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

LETTERS, OTHERS = Characters().learn(["abcd"]), Characters().learn(["xy"])
TASK = Transduction(TextModality(LETTERS), OTHERS)


def say(*confidences: float | None) -> Output:
    tokens = tuple(Token("x", place, place + 1, one) for place, one in enumerate(confidences))
    return Output("x" * len(tokens), -1.0, tokens, (5,) * len(tokens), "a")


def test_a_text_is_as_sure_as_the_geometric_mean_of_its_tokens_and_as_probable_as_their_product() -> None:
    output = say(0.5, 0.25, 0.9)
    assert output.confidence == pytest.approx((0.5 * 0.25 * 0.9) ** (1 / 3))
    assert output.probability == pytest.approx(0.5 * 0.25 * 0.9)
    assert say(0.5, None).confidence == pytest.approx(0.5)
    assert say(0.5, None).probability is None
    assert say(0.0, 1.0).confidence == pytest.approx(math.sqrt(1e-300))
    blank = Output("", 0.0, (), (), " ")
    assert (blank.confidence, blank.probability, say(None).confidence) == (None, None, None)


def test_a_label_is_as_sure_and_as_probable_as_its_score() -> None:
    output = Output("good", 0.7, (), (1,), "a", probabilities={"good": 0.7, "bad": 0.3})
    assert (output.confidence, output.probability) == (0.7, 0.7)


def test_tasks_say_what_they_read_and_write() -> None:
    assert TASK.describe() == f"{len(LETTERS)} source and {len(OTHERS)} target tokens"
    assert len(LETTERS) == len(OTHERS) + 2
    labels = Labels().learn([f"l{number}" for number in range(7)])
    whole = Classification(TextModality(LETTERS), labels)
    assert whole.describe() == f"{len(LETTERS)} tokens, 7 labels (l0, l1, l2, l3, l4, l5, ...)"
    few = Classification(TextModality(LETTERS), Labels().learn([f"l{number}" for number in range(6)]))
    assert few.describe() == f"{len(LETTERS)} tokens, 6 labels (l0, l1, l2, l3, l4, l5)"


def test_texts_are_right_as_they_are_and_labels_in_any_order() -> None:
    assert TASK.is_correct("caf\u00e9", "cafe\u0301")
    assert not TASK.is_correct("a b", "b a")
    several = Classification(TextModality(LETTERS), Labels(separator="|").learn(["x|y", "z"]))
    assert several.is_correct("y|x", "x| y")
    assert not several.is_correct("x", "x|y")
    assert not several.is_correct("x|y", "x")


def test_a_given_target_is_an_output_without_confidences() -> None:
    output = encode_target(TASK, "ab", "yx")
    assert (output.text, output.score, output.source, output.ids) == ("yx", 0.0, "ab", tuple(OTHERS.encode("yx").ids))
    assert [(token.text, token.start, token.end, token.confidence) for token in output.tokens[:2]] == [
        ("y", 0, 1, None),
        ("x", 1, 2, None),
    ]
    with pytest.raises(Seq2SeeError, match="target must have known tokens only; got 'c'"):
        encode_target(TASK, "ab", "xcy")
    with pytest.raises(Seq2SeeError, match="this run chooses labels; leave out target"):
        encode_target(Classification(TextModality(LETTERS), Labels().learn(["x", "y"])), "ab", "x")
    forced = ForcedOutput.from_output(output)
    assert (forced.source, forced.target, forced.ids, forced.tokens) == ("ab", "yx", output.ids, output.tokens)
