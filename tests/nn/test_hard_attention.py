"""Hard attention: what it draws, what it shows, and that its gradient is right on average."""

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seq2see.core.errors import Seq2SeeError
from seq2see.core.sampled_choices import SampledChoice, SampledChoices, choosing
from seq2see.nn.cross_entropy import output_cross_entropy
from seq2see.nn.normalise import Hard, Softmax

ODDS = torch.tensor([1.0, 3.0, 4.0, 2.0])  # a mask forbids the last one
TWO = torch.ones(1, 2, dtype=torch.bool)  # one target of two tokens
MASK = torch.tensor([True, True, True, False]).view(1, 1, 1, 4)


def weigh(hard: Hard, rows: int = 1) -> Tensor:
    return hard(ODDS.log().expand(rows, 1, 1, 4), MASK, torch.zeros(rows, 1, 1, 1))


def test_outside_of_training_the_likeliest_position_has_all_the_weight() -> None:
    assert weigh(Hard().eval()).flatten().tolist() == [0, 0, 1, 0]


def test_positions_are_drawn_as_often_as_the_softmax_says() -> None:
    torch.manual_seed(1)
    with choosing():
        weights = weigh(Hard(soft_share=0.0), rows=40_000)
    assert weights.unique().tolist() == [0, 1]
    np.testing.assert_allclose(weights.mean(dim=0).flatten(), [1 / 8, 3 / 8, 1 / 2, 0], atol=0.01)


def test_a_share_of_the_sources_sees_the_softmax_for_a_whole_pass() -> None:
    torch.manual_seed(1)
    hard = Hard(soft_share=0.25)
    with choosing() as choices:
        first, second = (weigh(hard, rows=4_000).amax(dim=(1, 2, 3)) < 1 for _ in range(2))
    assert torch.equal(first, second)
    assert first.float().mean().item() == pytest.approx(0.25, abs=0.03)
    (pieces,) = choices._pieces.values()
    assert (pieces[0].logprob[first] == 0).all()
    assert (pieces[0].logprob[~first] < 0).all()


def test_soft_is_softmax_with_its_gradients() -> None:
    hard, soft = Hard(soft_share=1.0), Softmax()
    scores = torch.randn(2, 3, 5, 4, dtype=torch.double, requires_grad=True)
    query, factors = torch.zeros(2, 3, 5, 1, dtype=torch.double), torch.randn(2, 3, 5, 4, dtype=torch.double)
    with choosing():
        weights = hard(scores, MASK, query)
    assert torch.equal(weights, soft(scores, MASK, query))
    (mine,) = torch.autograd.grad((weights * factors).sum(), scores)
    (theirs,) = torch.autograd.grad((soft(scores, MASK, query) * factors).sum(), scores)
    assert torch.equal(mine, theirs)


def test_padding_does_not_change_what_is_drawn() -> None:
    scores, query = torch.randn(5, 2, 3, 7), torch.zeros(5, 2, 3, 1)
    mask = (torch.arange(7) < 4).view(1, 1, 1, 7)
    drawn = []
    for length in (4, 7):
        torch.manual_seed(1)
        with choosing():
            drawn.append(Hard(soft_share=0.0)(scores[..., :length], mask[..., :length], query)[..., :4])
    assert torch.equal(*drawn)


def test_logprob_and_entropy_by_hand() -> None:
    torch.manual_seed(1)
    hard = Hard(soft_share=0.0)
    with choosing() as choices:
        chosen = int(weigh(hard).argmax())
        hard(ODDS.log().view(1, 1, 1, 4), torch.zeros_like(MASK), torch.zeros(1, 1, 1, 1))
    (pieces,) = choices._pieces.values()
    odds = np.array([1, 3, 4]) / 8
    assert pieces[0].logprob.item() == pytest.approx(np.log(odds[chosen]), rel=1e-5)
    assert pieces[0].entropy.item() == pytest.approx(-(odds * np.log(odds)).sum(), rel=1e-5)
    assert (pieces[1].logprob.item(), pieces[1].entropy.item()) == (0, 0)  # nothing to choose from


def test_reward_and_baseline_by_hand() -> None:
    hard = Hard(reward=2.0, entropy=0.5, decay=0.9)
    logprob, entropy = torch.tensor([[-1.0], [-2.0]]), torch.tensor([[0.25], [0.75]])
    first = hard.reinforce(logprob, entropy, torch.tensor([-1.0, -3.0]), TWO)
    assert first.item() == pytest.approx(-2 * (-1 * -1 + -3 * -2) - 0.5)  # nothing was seen before: against 0
    second = hard.reinforce(logprob, entropy, torch.tensor([-1.0, -3.0]), TWO)
    assert second.item() == pytest.approx(-2 * (1 * -1 + -1 * -2) - 0.5)  # against the mean reward, -2
    hard.reinforce(logprob, entropy, torch.tensor([-4.0, -4.0]), TWO)
    assert (hard.total / hard.weight).item() == pytest.approx((0.81 * -2 + 0.9 * -2 + -4) / 2.71)


def test_a_reward_that_is_no_number_is_forgotten() -> None:
    hard = Hard()
    for reward in (float("nan"), -float("inf")):
        hard.reinforce(torch.zeros(1, 1), torch.zeros(1, 1), torch.tensor([reward]), TWO[:, :1])
    assert hard.state_dict() == {"total": torch.tensor(0.0), "weight": torch.tensor(0.0)}


def test_the_reward_itself_does_not_learn_from_the_choices() -> None:
    reward = torch.tensor([-1.0, -3.0], requires_grad=True)
    logprob = torch.tensor([[-1.0], [-2.0]], requires_grad=True)
    Hard().reinforce(logprob, torch.zeros(2, 1), reward, TWO).backward()
    assert reward.grad is None
    assert logprob.grad is not None
    assert logprob.grad.tolist() == [[1.0], [3.0]]


class Listener:
    """A chooser that keeps what it is told."""

    def reinforce(self, logprob: Tensor, entropy: Tensor, reward: Tensor, mask: Tensor) -> Tensor:
        self.told = (logprob.tolist(), entropy.tolist(), reward.tolist())
        return reward.sum()


def test_every_choice_meets_the_reward_of_its_token() -> None:
    listener, choices = Listener(), SampledChoices()
    for step in (0, 1):  # two sources, one head, two steps; the second source has one token
        choices.record(
            listener, SampledChoice(*(torch.tensor([[[k + step]], [[k + 2.0 + step]]]) for k in (10.0, 20.0)))
        )
    loss = choices.loss(torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([[True, True], [True, False]]))
    assert listener.told == ([[10], [11], [12]], [[20], [21], [22]], [-1, -2, -3])
    assert loss.item() == -6


def test_choices_that_belong_to_no_target_token_are_refused() -> None:
    choices = SampledChoices()
    choices.record(Listener(), SampledChoice(torch.zeros(2, 1, 5), torch.zeros(2, 1, 5)))
    with pytest.raises(Seq2SeeError, match=r"once for each target token.*got \(2, 1, 5\) for targets of \(2, 3\)"):
        choices.loss(torch.zeros(6), torch.ones(2, 3, dtype=torch.bool))


def test_training_without_a_loss_that_listens_is_refused() -> None:
    with pytest.raises(Seq2SeeError, match="learns from what it sampled"):
        weigh(Hard())
    with torch.no_grad():
        assert weigh(Hard(soft_share=0.0)).sum() == 1


def test_the_gradient_is_unbiased() -> None:
    """Two heads choose among three positions for one token: the mean over many draws is the gradient of
    E[-log p(y)] - entropy H, summed over all nine pairs of positions.
    """
    torch.manual_seed(1)
    rows, entropy_share = 60_000, 0.3
    scores = torch.randn(1, 2, 1, 3, dtype=torch.double, requires_grad=True)
    values, output = torch.randn(2, 3, 2, dtype=torch.double), torch.randn(4, 4, dtype=torch.double).requires_grad_()
    target, bias = torch.tensor([2]), torch.zeros(4, dtype=torch.double)
    p = scores.softmax(dim=-1)[0, :, 0]
    expected = entropy_share * (p * p.log()).sum()
    for i, j in product(range(3), repeat=2):
        features = torch.cat([values[0, i], values[1, j]])
        expected = expected + p[0, i] * p[1, j] * F.cross_entropy((output @ features).unsqueeze(0), target)
    exact, exact_output = torch.autograd.grad(expected, (scores, output))

    hard = Hard(soft_share=0.0, entropy=entropy_share).double()
    hard.total, hard.weight = torch.tensor(-0.7), torch.tensor(1.0)  # any baseline will do
    copies = scores.detach().repeat(rows, 1, 1, 1).requires_grad_()
    with choosing() as choices:
        weights = hard(copies, torch.ones(1, 1, 1, 3, dtype=torch.bool), torch.zeros(rows, 2, 1, 1).double())
    features = (weights @ values).transpose(1, 2).flatten(1)
    loss, nll = output_cross_entropy(features, output, bias, target.expand(rows))
    loss = loss + choices.loss(-nll, torch.ones(rows, 1, dtype=torch.bool))
    drawn, drawn_output = torch.autograd.grad(loss, (copies, output))
    error = drawn.std(dim=0) / rows**0.5
    assert error.max() < 0.01
    assert ((drawn.mean(dim=0) - exact[0]).abs() < 4.5 * error).all()
    torch.testing.assert_close(drawn_output / rows, exact_output, rtol=0.0, atol=0.02)


def test_credit_for_the_rest_by_hand() -> None:
    hard = Hard(reward=2.0, entropy=0.0, credit="rest")
    mask = torch.tensor([[True, True, False], [True, True, True]])
    logprob = torch.tensor([[-1.0], [-2.0], [-3.0], [-4.0], [-5.0]])
    loss = hard.reinforce(logprob, torch.zeros(5, 1), torch.tensor([-1.0, -3.0, -1.0, -2.0, -4.0]), mask)
    rests = [-4, -3, -7, -6, -4]  # nothing was seen before: against 0
    assert loss.item() == pytest.approx(-2 * sum(r * p for r, p in zip(rests, [-1, -2, -3, -4, -5], strict=True)))


def test_the_gradient_is_unbiased_where_a_choice_changes_later_tokens() -> None:
    """Two tokens: the position of the first one is remembered, so that it changes the likelihood of both."""
    torch.manual_seed(1)
    rows = 60_000
    scores = torch.randn(2, 1, 1, 3, dtype=torch.double, requires_grad=True)  # one for each step
    values, output = torch.randn(3, 2, dtype=torch.double), torch.randn(4, 4, dtype=torch.double)
    targets, empty = torch.tensor([2, 1]), torch.zeros(2, dtype=torch.double)
    p = scores.softmax(dim=-1)[:, 0, 0]
    expected = torch.zeros(())
    for i, j in product(range(3), repeat=2):
        seen = torch.stack([torch.cat([values[i], empty]), torch.cat([values[j], values[i]])])
        expected = expected + p[0, i] * p[1, j] * F.cross_entropy(seen @ output.T, targets, reduction="sum")
    (exact,) = torch.autograd.grad(expected, scores)

    hard = Hard(soft_share=0.0, entropy=0.0, credit="rest").double()
    hard.total, hard.weight = torch.tensor(-0.7), torch.tensor(1.0)  # any baseline will do
    copies = scores.detach().repeat(1, rows, 1, 1).unsqueeze(2).requires_grad_()
    with choosing() as choices:
        first, second = (hard(each, MASK[..., :3], torch.zeros(rows, 1, 1, 1).double())[:, 0, 0] for each in copies)
    before, after = first @ values, second @ values
    seen = torch.stack([torch.cat([before, empty.expand(rows, 2)], 1), torch.cat([after, before], 1)], dim=1)
    nll = F.cross_entropy((seen @ output.T).flatten(0, 1), targets.repeat(rows), reduction="none")
    loss = nll.sum() + choices.loss(-nll, torch.ones(rows, 2, dtype=torch.bool))
    (drawn,) = torch.autograd.grad(loss, copies)
    drawn = drawn.flatten(2)
    error = drawn.std(dim=1) / rows**0.5
    assert error.max() < 0.02
    assert ((drawn.mean(dim=1) - exact.flatten(1)).abs() < 4.5 * error).all()
