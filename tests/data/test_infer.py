"""Where texts end and labels begin: the bounds of what is inferred from pairs alone, on both sides of each."""

from collections.abc import Sequence

import pytest

from seq2see.data.checks.infer import cannot_be_labels, infer_labels, infer_modality, spread
from seq2see.data.pairs import Pairs


def number_texts(count: int) -> list[str]:
    return [f"text {number}" for number in range(count)]


def number_images(count: int) -> list[str]:
    return [f"/data/{number}.png" for number in range(count)]


def repeat(labels: Sequence[str], count: int) -> list[str]:
    return [labels[number % len(labels)] for number in range(count)]


@pytest.mark.parametrize(
    ("sources", "labels", "found"),
    [
        (number_texts(8), 2, True),  # four texts for each label
        (number_texts(7), 2, False),
        (number_texts(800), 200, True),
        (number_texts(804), 201, False),
        (number_texts(40), 1, False),  # a single label is nothing to choose from
        (number_images(4), 2, True),  # two images for each
        (number_images(3), 2, False),
    ],
)
def test_labels_are_few_for_so_many_sources(sources: list[str], labels: int, found: bool) -> None:
    targets = repeat([f"l{number}" for number in range(labels)], len(sources))
    assert infer_labels(Pairs(sources, targets)) == found


def test_labels_are_short() -> None:
    for words, found in ((4, True), (5, False)):
        targets = repeat([" ".join("a" * words), "b"], 40)
        assert infer_labels(Pairs(number_texts(40), targets)) == found


def test_hardly_any_source_has_two_labels() -> None:
    """Two of forty are five percent of them; two that are the same are one."""
    for more, found in ((2, True), (3, False)):
        texts = number_texts(40)
        assert infer_labels(Pairs([*texts, *texts[:more]], [*repeat("ab", 40), *repeat("ba", more)])) == found
    assert infer_labels(Pairs([*texts, *texts[:9]], [*repeat("ab", 40), *repeat("ab", 9)]))


@pytest.mark.parametrize(
    ("texts", "labels", "words", "found"),
    [
        (2, 1, 1, True),  # a name of a column may speak of one label
        (4, 2, 1, True),
        (3, 2, 1, False),  # but labels occur again
        (8, 2, 9, True),  # long ones if they are few
        (7, 2, 9, False),
        (80, 20, 9, True),
        (84, 21, 9, False),
        (84, 21, 4, True),
    ],
)
def test_a_column_that_is_called_label_is_believed_if_its_values_occur_again(
    texts: int, labels: int, words: int, found: bool
) -> None:
    named = [f"{'x ' * (words - 1)}l{number}" for number in range(labels)]
    pairs = Pairs([*number_texts(texts), "text 0"], [*repeat(named, texts), named[-1]], labels=True)
    assert infer_labels(pairs) == found


def test_what_the_data_says_of_images_and_texts_is_believed() -> None:
    images, captions = number_images(5), [f"a dog {number}" for number in range(5)]
    assert infer_labels(Pairs(images, captions, labels=True))
    assert not infer_labels(Pairs(number_texts(40), repeat("ab", 40), labels=False))


def test_several_labels_in_one_target_are_told_apart() -> None:
    targets = repeat(["a|b", "b", "c|a"], 40)
    assert infer_labels(Pairs(number_texts(40), targets, labels=True, separator="|"))
    assert not infer_labels(Pairs(number_texts(5), targets[:5], labels=True, separator="|"))  # three for five texts


def test_targets_that_hardly_occur_again_cannot_be_labels() -> None:
    for different, found in ((10, False), (11, True)):
        targets = [f"l{min(number, different - 1)} " for number in range(20)]
        assert cannot_be_labels(Pairs(number_texts(20), targets)) == found
    assert not cannot_be_labels(Pairs(number_texts(19), number_texts(19)))  # too few to tell
    spaced = [f"l{number // 2}{' ' * (number % 2)}" for number in range(20)]
    assert not cannot_be_labels(Pairs(number_texts(20), spaced))  # ten, each with and without a space


def test_sources_with_several_targets_cannot_have_labels() -> None:
    for more, found in ((15, False), (16, True)):  # of thirty texts
        texts = number_texts(30)
        pairs = Pairs([*texts, *texts[:more]], [*["a"] * 30, *["b"] * more])
        assert cannot_be_labels(pairs) == found


def test_all_sources_are_images_or_none_is() -> None:
    assert infer_modality(Pairs([], [])) == "text"
    assert infer_modality(Pairs(number_images(3), ["a"] * 3)) == "images"
    assert infer_modality(Pairs([*number_images(3), "text"], ["a"] * 4)) == "text"


def test_texts_are_inspected_evenly() -> None:
    assert spread(list("abcdefghij"), 3) == list("adgj")
    assert spread(list("abc"), 3) == list("abc")
    assert spread(list("abc")) == list("abc")
    assert len(spread(number_texts(1_999))) == 1_999
    assert len(spread(number_texts(2_000))) == 1_000
