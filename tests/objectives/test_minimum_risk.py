"""Minimum risk training: rewards, samples, the gradient of the expected reward, and its weight in a loss."""

from math import exp, sqrt
from pathlib import Path
from typing import Any

import pytest
import torch
from losses import make as make_batch
from losses import weigh
from reversal import SMALL, configure, start, write_reversals
from torch import nn

from seq2see.core.memory import Memory
from seq2see.core.special_tokens import END, START, UNKNOWN
from seq2see.core.tree import expand
from seq2see.data.batch import Batch, collate
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pack
from seq2see.nn.cross_entropy import output_cross_entropy
from seq2see.objectives.likelihood import Likelihood
from seq2see.objectives.minimum_risk import (
    SAMPLES_PER_SOURCE,
    TEMPERATURE,
    MinimumRisk,
    best_gleu,
    build_reward,
    expected_risk,
    gleu,
    sample_outputs,
)
from seq2see.search.hypothesis import Limits
from seq2see.search.sample import draw
from seq2see.search.walk import walk
from seq2see.training.job import Job

TRANSFORMER = {"kind": "transformer", "size": 8, "inner_size": 16, "layers": 1, "heads": 2}
MODELS = {"rnn": SMALL, "transformer": {"encoder": TRANSFORMER, "decoder": TRANSFORMER}}


def test_gleu_by_hand() -> None:
    """Of 1 2 3 and 1 2 4: two tokens and one pair in common, of three tokens, two pairs and one triple."""
    assert gleu([1, 2, 3], [1, 2, 4]) == 3 / 6
    assert gleu([1, 2], [1, 2, 4]) == 3 / 6
    assert gleu([5, 5, 5, 5, 5], [5, 5, 5, 5, 5]) == 1
    assert gleu([], [1]) == gleu([2], [1]) == 0


def test_the_target_most_like_an_output_is_what_counts() -> None:
    assert best_gleu([5, 6, 7, END], [[9, END], [5, 6, 8, END]]) == 3 / 6


def test_rare_words_are_worth_more() -> None:
    """By hand: of three sources with the targets "1 2", "1 3" and "1 4", token 1 is everywhere and worth nothing."""
    store = Store(pack([[7], [8], [9]]), pack([[1, 2], [1, 3], [1, 4]]), "")
    reward = build_reward("cider", store)
    # one token: (0, log 3) beside itself, one pair: (log 3) beside itself, no triples and quadruples
    assert reward([1, 2], [[1, 2]]) == pytest.approx(10 * 2 / 4)
    assert reward([1, 3], [[1, 2]]) == reward([1], [[1, 2]]) == 0
    # the second reference is one token longer, so exp(-1 / 72); half of its length in rare tokens and pairs
    longer = exp(-1 / 72) * (1 / sqrt(2) + 1 / sqrt(2))
    assert reward([1, 2], [[1, 2], [1, 2, 3]]) == pytest.approx(10 / 4 * (2 + longer) / 2)


def test_it_starts_after_updates_with_the_likelihood_alone(tmp_path: Path) -> None:
    loop = make(tmp_path, "rnn", minimum_risk={"start": 0.5})
    assert [loop.learner.objective.needs_references(update) for update in (1, 2)] == [False, True]
    list(loop.run())


def test_the_time_of_its_updates_is_estimated_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_reversals(tmp_path / "reversed.tsv", 32)
    job = start(configure(data, updates=12, minimum_risk={"start": 0.8}), tmp_path / "run")
    monkeypatch.setattr(Job, "_time", lambda _, update, __: {9: 1.0, 12: 100.0}[update])
    assert job.estimate() == 9 * 1.0 + 3 * 100.0


def test_weighted_rows_by_hand() -> None:
    """Gradients of weighted rows are those of autograd, smoothing and all."""
    random = torch.Generator().manual_seed(1)
    features, weight, bias = (torch.randn(*s, generator=random, requires_grad=True) for s in ((6, 3), (5, 3), (5,)))
    targets, counts = torch.tensor([0, 4, 2, 1, 1, 3]), torch.tensor([1.0, -0.5, 0.0, 2.0, 0.25, 1.0])
    loss, _ = output_cross_entropy(features, weight, bias, targets, smoothing=0.1, weights=counts)
    found = torch.autograd.grad(loss, (features, weight, bias))
    logprobs = (features @ weight.T + bias).log_softmax(dim=1)
    rows = -0.9 * logprobs[torch.arange(6), targets] - 0.1 * logprobs.mean(dim=1)
    expected = torch.autograd.grad((counts * rows).sum(), (features, weight, bias))
    torch.testing.assert_close(loss, (counts * rows).sum())
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def make(tmp_path: Path, kind: str, **settings: Any) -> Any:
    data = write_reversals(tmp_path / "reversed.tsv", 32)
    return start(configure(data, model=MODELS[kind], updates=2, **settings), tmp_path / "run").loop


def test_nothing_is_drawn_from_what_is_not_a_number() -> None:
    broken = torch.tensor([[torch.nan] * 3, [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert draw(broken, torch.tensor([0.5, 0.5, 0.999])).tolist()[2] == 1
    assert (draw(broken, torch.rand(3)) < 3).all()


@pytest.mark.parametrize("kind", MODELS)
def test_samples_follow_the_model_and_leave_it_as_it_was(tmp_path: Path, kind: str) -> None:
    loop = make(tmp_path, kind)
    batch = collate(loop.store, torch.arange(3).numpy(), referring=True)
    model = loop.model.train()
    model.decoder.output.bias.data[END] = 50.0
    memory = model.encoder(batch.source, batch.source_mask)
    assert sample_outputs(model.decoder, memory, longest=7) == [(END,)] * (3 * SAMPLES_PER_SOURCE)
    expected_risk(model.decoder, memory, batch, best_gleu)
    assert model.decoder.training


def test_a_reward_that_fails_leaves_the_mode_of_the_decoder(tmp_path: Path) -> None:
    _, model, batch = make_batch(tmp_path)
    model.train()

    def fail(output: Any, references: Any) -> float:
        raise ValueError("no reward")

    with pytest.raises(ValueError, match="no reward"):
        expected_risk(model.decoder, model.encoder(batch.source, batch.source_mask), batch, fail)
    assert model.decoder.training


@pytest.mark.parametrize("kind", MODELS)
def test_samples_that_share_a_memory_are_those_with_one_each(tmp_path: Path, kind: str) -> None:
    loop = make(tmp_path, kind)
    model = loop.model.eval()
    batch = collate(loop.store, torch.arange(5).numpy())
    longest = torch.tensor([9, 2, 3, 1, 8])

    def choose(logprobs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return logprobs.topk(2, dim=1).indices.gather(1, (rows % 2).unsqueeze(1)).squeeze(1)

    with torch.inference_mode():
        fixed, state = model.decoder.begin(model.encoder(batch.source, batch.source_mask))
        each = Limits(START, END, longest.repeat_interleave(2))
        apart = walk(model.decoder.step, expand(state, 2), expand(fixed, 2), each, choose=choose)
        both = Limits(START, END, longest)
        shared = walk(model.decoder.step, expand(state, 2), fixed, both, choose=choose, copies=2)
    assert len({len(each.tokens) for each in apart}) > 2
    for one, other in zip(apart, shared, strict=True):
        assert one.tokens == other.tokens
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


class Coin(nn.Module):
    """Writes token 4 or token 5, as likely as not, and ends."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(2, 6, bias=True)
        nn.init.zeros_(self.output.bias)
        self.output.weight.data.fill_(-50.0)
        self.output.weight.data[4:, 0], self.output.weight.data[END, 1] = 0.0, 50.0

    def begin(self, memory: Memory) -> tuple[None, torch.Tensor]:
        return None, torch.zeros(len(memory.states), 1, dtype=torch.long)

    def step(self, tokens: torch.Tensor, state: torch.Tensor, fixed: None) -> tuple[torch.Tensor, torch.Tensor]:
        return self.output.weight.T[state[:, 0].clamp(max=1)].clone(), state + 1

    def features(self, tokens: torch.Tensor, memory: Memory) -> torch.Tensor:
        return torch.eye(2)[torch.arange(tokens.shape[1]).clamp(max=1)].expand(len(tokens), -1, -1)


def test_the_gradient_is_that_of_the_expected_reward() -> None:
    """By hand: of two tokens one earns 1, so that by its logit the expected reward has the derivative p (1 - p) / T."""
    coin, sources = Coin(), 3000
    memory = Memory(torch.zeros(sources, 1, 1), torch.ones(sources, 1, dtype=torch.bool))
    targets = torch.tensor([[4, END]]).expand(sources, -1)
    whole = torch.ones_like(targets, dtype=torch.bool)
    batch = Batch(memory.states, memory.mask, targets, targets, whole, [[[4, END]]] * sources)
    torch.manual_seed(1)
    decoder: Any = coin
    expected_risk(decoder, memory, batch, best_gleu).backward()
    assert coin.output.weight.grad is not None
    right, wrong = (coin.output.weight.grad[4:, 0] / sources).tolist()
    assert right == pytest.approx(-0.25 / TEMPERATURE, abs=0.02)
    assert wrong == pytest.approx(0.25 / TEMPERATURE, abs=0.02)


def test_marks_that_are_never_drawn_learn_nothing() -> None:
    coin, sources = Coin(), 50
    coin.output.weight.data[UNKNOWN, 0] = 3.0  # likelier than both tokens
    memory = Memory(torch.zeros(sources, 1, 1), torch.ones(sources, 1, dtype=torch.bool))
    targets = torch.tensor([[4, END]]).expand(sources, -1)
    batch = Batch(memory.states, memory.mask, targets, targets, targets > 0, [[[4, END]]] * sources)
    decoder: Any = coin
    expected_risk(decoder, memory, batch, best_gleu).backward()
    assert coin.output.weight.grad is not None
    assert coin.output.weight.grad[UNKNOWN].tolist() == [0, 0]
    assert coin.output.weight.grad[4, 0] < -1 < 1 < coin.output.weight.grad[5, 0]


@pytest.mark.parametrize(("normalise", "reward"), [("softmax", "gleu"), ("softmax", "cider"), ("hard", "gleu")])
def test_a_run_learns_from_its_rewards(tmp_path: Path, normalise: str, reward: str) -> None:
    data = write_reversals(tmp_path / "reversed.tsv", 64)
    decoder = {**SMALL["decoder"], "reader": {"kind": "before", "score": "additive", "normalise": normalise}}
    settings = {
        "updates": 60,
        "minimum_risk": {"weight": 0.5, "reward": reward},
        "validate_every": 20,
        "batch_tokens": 256,
    }
    config = configure(data, model={**SMALL, "decoder": decoder}, **settings)
    loop = start(config, tmp_path / "run").loop
    list(loop.run())
    losses = [row["valid_loss"] for row in loop.folder.read_metrics()]
    assert losses[-1] < losses[0]


def test_the_loss_is_the_mixture_of_likelihood_and_risk(tmp_path: Path) -> None:
    """Wu et al. 2016, eq. 9, with weights that add up to 1."""
    _, model, batch = make_batch(tmp_path)
    term = MinimumRisk(reward=best_gleu, weight=0.3, start=0.5, updates=10)
    parameters = list(model.parameters())
    torch.manual_seed(5)
    loss = Likelihood(smoothing=0.1, terms=[term])(model, batch, 6)
    torch.manual_seed(5)
    risk = expected_risk(model.decoder, model.encoder(batch.source, batch.source_mask), batch, best_gleu)
    expected = 0.7 * weigh(model, batch, 0.1) + 0.3 * risk
    assert abs(risk.item()) > 0.01
    torch.testing.assert_close(loss.total, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(loss.nll, weigh(model, batch).detach(), rtol=1e-4, atol=1e-4)
    for mine, theirs in zip(
        torch.autograd.grad(loss.total, parameters), torch.autograd.grad(expected, parameters), strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(
        Likelihood(terms=[term])(model, batch, 5).total, weigh(model, batch), rtol=1e-4, atol=1e-4
    )


def test_samples_with_equal_rewards_have_no_gradient(tmp_path: Path) -> None:
    """The baseline of each is the mean of the others, so that nothing is left of a reward that all have."""
    _, model, batch = make_batch(tmp_path)
    memory = model.encoder(batch.source, batch.source_mask)
    loss = expected_risk(model.decoder, memory, batch, lambda output, references: 0.75)
    gradients = torch.autograd.grad(loss, list(model.decoder.parameters()), allow_unused=True)
    assert all(gradient is None or not gradient.any() for gradient in gradients)
