"""Labels: sorted, one or several a source, and never a new one without a word."""

import pytest

from seq2see.core.errors import DataError, TokenError
from seq2see.data.modalities.label_set import Labels, LabelSet
from seq2see.data.modalities.learn import read_target
from seq2see.data.modalities.target import match_targets


def test_one_label_a_source() -> None:
    labels = Labels().learn(["pos", " neg ", "pos", "a|b"])
    assert labels.names == ("a|b", "neg", "pos")
    assert labels.counts == (1, 1, 2)
    assert labels.ids(["pos", "neg "]) == [[2], [1]]
    assert labels.balance == [4 / 3, 4 / 3, 4 / 6]
    assert Labels(separator="").learn(["a", "b"]).names == ("a", "b")


def test_several_labels_a_source() -> None:
    labels = Labels(separator="|").learn(["b|a", "b | c", "b"])
    assert (labels.names, labels.counts, labels.sources) == (("a", "b", "c"), (1, 3, 1), 3)
    assert labels.ids(["c|b|c", "a"]) == [[2, 1], [0]]
    assert labels.join([1, 0]) == "b|a"
    assert labels.balance == [2, 1 / 3, 2]  # a label of all sources still counts


def test_labels_come_back_from_their_file() -> None:
    labels = Labels(separator=",").learn(["ä,b", "c"])
    assert read_target(labels.to_json()) == labels
    with pytest.raises(TokenError, match="not a file of labels"):
        read_target('{"kind": "labels"}')


def test_what_cannot_be_learned_is_said() -> None:
    with pytest.raises(DataError, match="two different labels to choose from; got 'a'"):
        Labels().learn(["a", "a"])
    with pytest.raises(DataError, match=r"'c' does not occur in the training data \(known: 'a', 'b'\)"):
        Labels().learn(["a", "b"]).ids(["c"])
    with pytest.raises(DataError, match="each source must have a label; got ' , '"):
        Labels(separator=",").learn(["a", "b", " , "]).ids(["a", " , "])


def test_a_target_is_known_with_all_its_labels() -> None:
    labels = Labels(separator="|").learn(["b|a", "c"])
    assert [labels.knows(target) for target in ("a | c", "a|d", "d")] == [True, False, False]


def test_only_the_same_labels_match() -> None:
    mine, theirs = LabelSet(("a", "b", "c"), (1, 1, 1), 3), LabelSet(("c", "a", "b"), (1, 1, 1), 3)
    assert match_targets(mine, theirs) == [1, 2, 0]
    assert match_targets(mine, LabelSet(("a", "b"), (1, 1), 2)) is None
    assert match_targets(mine, LabelSet(("a", "b", "c"), (1, 1, 1), 3, separator="|")) is None
