"""Where training drops: doubled there instead, every model is what it is with weights that are twice as large there."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.core.registry import part
from seq2see.testing import draw_documents, draw_images, draw_texts

pytestmark = pytest.mark.usefixtures("doubled")


def build(group: str, spec: dict[str, Any], **sizes: int) -> tuple[Any, Any]:
    """One that drops and one that does not, with the same weights."""
    torch.manual_seed(1)
    dropping, plain = (part(group, {**spec, "dropout": rate})(**sizes).double() for rate in (0.5, 0.0))
    plain.load_state_dict(dropping.state_dict())
    return dropping, plain


@torch.no_grad()
def double(weights: Sequence[Tensor]) -> None:
    for each in weights:
        each.mul_(2)


def check(dropping: Any, plain: Any, weights: Sequence[Tensor]) -> None:
    """All steps at once and one by one, over a memory that has everything that decoders ask for."""
    states, cells = torch.randn(2, 2, 4, 6, dtype=torch.double)
    mask = torch.tensor([[True] * 4, [True] * 3 + [False]])
    memory = Memory(states, mask, summary=torch.randn(2, 6, dtype=torch.double), cells=cells)
    tokens = torch.tensor([[1, 8, 5], [1, 3, 10]])
    double(weights)
    expected = plain(tokens, memory)
    torch.testing.assert_close(dropping(tokens, memory), expected)
    fixed, state = dropping.begin(memory)
    for number, token in enumerate(tokens.unbind(dim=1)):
        logits, state = dropping.step(token, state, fixed)
        torch.testing.assert_close(logits, expected[:, number])


DROPPING = [  # readers, and how often what they leave for the output and for the next step is dropped
    ("none", 0, 0),
    ({"kind": "bottom", "score": "additive"}, 0, 0),
    ({"kind": "before", "score": "additive"}, 1, 0),
    ({"kind": "gated", "score": "additive"}, 1, 0),
    ({"kind": "after", "score": "general", "input_feeding": False}, 1, 0),
    ({"kind": "after", "score": "general"}, 1, 1),
]


@pytest.mark.parametrize(("reader", "output", "fed"), DROPPING, ids=str)
def test_recurrent_decoders_drop_embeddings_and_between_layers(reader: Any, output: int, fed: int) -> None:
    sizes = {"cell": "lstm", "size": 5, "embedding_size": 2, "layers": 3}
    spec = {"kind": "rnn", **sizes, "reader": reader, "initial_state": "input"}
    dropping, plain = build("decoder", spec, vocabulary=11, memory_size=6)
    first, *above = plain.cells
    twice = [plain.embed.weight, plain.initial_state.project.weight, plain.initial_state.project.bias]
    twice += [cell.rnn.weight_ih_l0[:, :5] for cell in above]  # behind these columns stands what was read
    check(dropping, plain, twice + [plain.output.weight] * output + [first.rnn.weight_ih_l0[:, 2:]] * fed)


def test_recurrent_encoders_drop_embeddings_and_between_layers_and_states() -> None:
    spec = {"kind": "rnn", "cell": "lstm", "size": 3, "embedding_size": 2, "layers": 3}
    dropping, plain = build("encoder", spec, vocabulary=13)
    double([plain.embed.weight, *(cell.rnn.weight_ih_l0 for both in plain.layers[1:] for cell in both)])
    dropped, whole = dropping(*draw_texts(range(3))), plain(*draw_texts(range(3)))
    torch.testing.assert_close(dropped.states, 2 * whole.states)
    torch.testing.assert_close((dropped.summary, dropped.final_states), (whole.summary, whole.final_states))


@pytest.mark.parametrize("fusion", ["shallow", "deep"])
@pytest.mark.parametrize(("reader", "output", "fed"), DROPPING, ids=str)
def test_lstmn_decoders_drop_embeddings_and_between_layers(reader: Any, output: int, fed: int, fusion: str) -> None:
    spec = {"kind": "lstmn", "size": 6, "embedding_size": 2, "layers": 3, "reader": reader, "fusion": fusion}
    dropping, plain = build("decoder", spec, vocabulary=11, memory_size=6)
    twice = [plain.embed.weight] + [plain.output.weight] * output
    for number, layer in enumerate(plain.layers):
        for half in filter(None, (layer.cell, layer.fusion)):
            twice += [half.project_input.weight] if number else [half.project_context.weight for _ in range(fed)]
    check(dropping, plain, twice)


def test_lstmn_encoders_drop_embeddings_and_between_layers_and_states() -> None:
    spec = {"kind": "lstmn", "size": 3, "embedding_size": 2, "layers": 3}
    dropping, plain = build("encoder", spec, vocabulary=13)
    double([plain.embed.weight, *(layer.project_input.weight for layer in plain.layers[1:])])
    dropped, whole = dropping(*draw_texts(range(3))), plain(*draw_texts(range(3)))
    torch.testing.assert_close(dropped.states, 2 * whole.states)
    torch.testing.assert_close((dropped.cells, dropped.final_states), (whole.cells, whole.final_states))


def test_convolutional_decoders_drop_what_convolutions_and_the_output_see() -> None:
    spec = {"kind": "conv", "size": 5, "embedding_size": 6, "layers": 3}
    dropping, plain = build("decoder", spec, vocabulary=11, memory_size=6)
    twice = [plain.embed.weight, plain.position.weight, plain.output.weight]
    check(dropping, plain, twice + [layer.convolution.project.length for layer in plain.layers])


def test_convolutional_encoders_drop_what_convolutions_see() -> None:
    dropping, plain = build("encoder", {"kind": "conv", "size": 5, "embedding_size": 2, "layers": 3}, vocabulary=13)
    double([plain.embed.weight, plain.position.weight, *(layer.project.length for layer in plain.layers)])
    dropped, whole = dropping(*draw_texts(range(3))), plain(*draw_texts(range(3)))
    torch.testing.assert_close((dropped.states, dropped.values), (whole.states, whole.values))


def test_machines_drop_embeddings_and_what_the_output_sees() -> None:
    spec = {"kind": "ntm", "size": 5, "embedding_size": 2, "heads": 2}
    dropping, plain = build("decoder", {**spec, "initial_state": "projected"}, vocabulary=11, memory_size=6)
    check(dropping, plain, [plain.embed.weight, plain.output.weight])
    dropping, plain = build("encoder", {**spec, "rows": 7, "width": 3}, vocabulary=13)
    double([plain.embed.weight])
    torch.testing.assert_close(dropping(*draw_texts(range(3))).states, plain(*draw_texts(range(3))).states)


def test_hierarchies_drop_words_and_sentences_before_and_after_they_are_read() -> None:
    dropping, plain = build("encoder", {"kind": "han", "size": 3, "embedding_size": 2}, vocabulary=13)
    double([plain.embed.weight, *(cell.rnn.weight_ih_l0 for cell in plain.sentences)])
    dropped, whole = dropping(*draw_documents(range(3))), plain(*draw_documents(range(3)))
    torch.testing.assert_close(dropped.states, 2 * whole.states)
    torch.testing.assert_close((dropped.summary, dropped.final_states), (whole.summary, whole.final_states))


def test_images_drop_the_cells_of_their_maps() -> None:
    dropping, plain = build("encoder", {"kind": "cnn", "backbone": "small", "size": 5}, image_size=32)
    dropped, whole = dropping(*draw_images(range(3))), plain(*draw_images(range(3)))
    torch.testing.assert_close((dropped.states, dropped.summary), (2 * whole.states, 2 * whole.summary))
