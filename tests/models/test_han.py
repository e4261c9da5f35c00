"""The hierarchical network: its equations, both levels in one trace, and next to no padding computed."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seq2see.core.registry import Part, part
from seq2see.core.trace import tracing
from seq2see.models.classifier import Classifier, build_classifier
from seq2see.models.encoders import han_encoder as hierarchy
from seq2see.models.encoders.han_encoder import HanEncoder, cut_groups
from seq2see.nn.cell import read_sequence
from seq2see.testing import draw_documents

TOKENS, MASK = draw_documents(range(3))


def build(pool: str = "attention", word_pool: str = "attention") -> Classifier:
    torch.manual_seed(1)
    encoder = part("encoder", {"kind": "han", "size": 3, "embedding_size": 5, "pool": word_pool})
    return build_classifier(encoder=encoder, pool=Part("pool", pool), source_sizes={"vocabulary": 13}, classes=2).eval()


def read(cells: nn.ModuleList, inputs: Tensor) -> Tensor:
    """Both directions over one row."""
    mask = torch.ones(1, len(inputs), dtype=torch.bool)
    ways = ("forward", "backward")
    return torch.cat([read_sequence(c, inputs[None], mask, w)[0][0] for c, w in zip(cells, ways, strict=True)], dim=1)


def weigh(pool: nn.Module, states: Tensor) -> Tensor:
    """Yang et al. 2016, eq. 5 and 6."""
    score = pool.attend.score
    hidden = np.tanh((score.key(states) + score.query(pool.query)).numpy())
    weights = np.exp(hidden @ score.vector.numpy())
    return torch.from_numpy(weights / weights.sum())


@torch.no_grad()
def test_logits_and_both_attentions_are_the_papers_equations() -> None:
    model = build()
    with tracing(model) as trace:
        logits = model(TOKENS, MASK)
    assert trace.names == ("encoder.pool.attend", "pool.attend")
    words, sentences = (trace.weights(name)[:, 0, 0] for name in trace.names)
    vectors = []
    for place, length in enumerate(MASK[0].sum(dim=1).tolist()):
        states = read(model.encoder.words, model.encoder.embed(TOKENS[0, place, :length]))
        weights = weigh(model.encoder.pool, states)
        torch.testing.assert_close(words[place, :length], weights)  # the sentences of all documents in reading order
        vectors.append(weights @ states)
    states = read(model.encoder.sentences, torch.stack(vectors))
    weights = weigh(model.pool, states)
    torch.testing.assert_close(sentences[0, : len(weights)], weights)
    torch.testing.assert_close(logits[0], model.output(weights @ states))


@pytest.mark.parametrize("kind", ["attention", "mean", "max", "summary"])
def test_looking_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(word_pool=kind)
    plain = model(TOKENS, MASK)
    with tracing(model):
        looked = model(TOKENS, MASK)
    monkeypatch.setattr(hierarchy, "MIN_LENGTH_RATIO", 1.0)  # sentences of one length only
    for other in (looked, model(TOKENS, MASK)):
        torch.testing.assert_close(plain, other)


def test_the_words_lie_below_the_sentences() -> None:
    memory = build().encoder(TOKENS, MASK)
    assert memory.mask.equal(MASK.any(dim=2))
    assert memory.levels is not None
    (words,) = memory.levels
    assert words.mask.equal(MASK[MASK.any(dim=2)])
    assert words.states.shape == (*words.mask.shape, 6)


@pytest.mark.parametrize("pool", ["attention", "mean", "max", "summary"])
def test_empty_documents_give_numbers(pool: str) -> None:
    model = build(pool, pool)
    for mask in (torch.zeros_like(MASK), MASK & torch.tensor([True, False, True]).view(3, 1, 1)):
        logits = model(TOKENS, mask)
        logits.sum().backward()
        torch.testing.assert_close(logits[1], model.output.bias)
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert model(TOKENS[1:2, :1, :1], MASK[1:2, :1, :1] & False).isfinite().all()


def test_training_hides_words() -> None:
    torch.manual_seed(1)
    encoder = HanEncoder(vocabulary=13, size=3, embedding_size=5, word_dropout=0.5)
    tokens, mask = torch.full((4, 5, 6), 7), torch.ones(4, 5, 6, dtype=torch.bool)
    encoder(tokens, mask).states.sum().backward()
    assert encoder.embed.weight.grad is not None
    assert encoder.embed.weight.grad.abs().sum(dim=1).nonzero().flatten().tolist() == [3, 7]
    states = encoder.eval()(tokens, mask).states
    torch.testing.assert_close(states[0], states[1])


def test_hardly_any_padding_is_computed() -> None:
    """Sentences as reviews have them: words are read without padding, and pooled with at most 15 % of it."""
    random = np.random.default_rng(1)
    for _ in range(3):
        lengths = np.clip(np.exp(random.normal(2.8, 0.75, 500)), 1, 50).astype(int)
        lengths = sorted(lengths.tolist(), reverse=True)
        ends = np.cumsum(cut_groups(lengths)).tolist()
        computed = sum((end - start) * lengths[start] for start, end in zip([0, *ends], ends, strict=False))
        assert ends[-1] == len(lengths)
        assert 1 - sum(lengths) / computed < 0.15
