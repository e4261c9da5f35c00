"""Trainings with chance in them: hard attention and scheduled sampling go on bit for bit, and learn."""

from pathlib import Path
from typing import Any

import pytest
import torch
from jaxtyping import Bool, Int
from reversal import SMALL, configure, start, write_reversals
from torch import Tensor, nn

from seq2see.core.errors import Seq2SeeError
from seq2see.core.memory import Memory
from seq2see.core.part_table import TABLE
from seq2see.explain.text_attention import explain_text
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.search.greedy import Greedy
from seq2see.training.events import Validated


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def with_reader(**options: Any) -> dict[str, Any]:
    reader = {"kind": "before", "score": "additive", **options}
    return {**SMALL, "decoder": {**SMALL["decoder"], "reader": reader}}


def test_stopping_and_going_on_changes_no_bit(data: Path, tmp_path: Path) -> None:
    """Hard attention, in a window it predicts, and scheduled sampling draw from one stream of chance."""
    model = with_reader(normalise="hard", window="local-p")
    config = configure(data, model=model, scheduled_sampling=0.5, accumulate=2, updates=8)
    straight = start(config, tmp_path / "straight")
    straight.estimate()  # what measures time must leave no trace
    list(straight.loop.run())
    job = start(config, tmp_path / "stopped")
    list(job.loop.run(lambda: job.loop.state.update >= 5))
    list(start(config, tmp_path / "stopped").loop.run())
    left, right = (read_checkpoint(RunFolder(tmp_path / n).checkpoints()[0]).tensors for n in ("straight", "stopped"))
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_without_scheduled_sampling_nothing_is_sampled(data: Path, tmp_path: Path) -> None:
    weights = []
    for name, options in (("a", {}), ("b", {"scheduled_sampling": 0.0}), ("c", {"scheduled_sampling": 0.5})):
        job = start(configure(data, updates=3, **options), tmp_path / name)
        list(job.loop.run())
        weights.append(torch.cat([parameter.flatten() for parameter in job.loop.model.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_the_loss_on_held_out_data_has_no_chance_in_it(data: Path, tmp_path: Path) -> None:
    job = start(configure(data, model=with_reader(normalise="hard")), tmp_path / "run")
    before = {name: tensor.clone() for name, tensor in job.loop.model.state_dict().items()}
    losses = [job.loop.evaluate(job.loop.workers.share)["valid_loss"] for _ in range(2)]
    assert losses[0] == losses[1]
    assert all(torch.equal(before[name], tensor) for name, tensor in job.loop.model.state_dict().items())


class Letters(nn.Module):
    """An encoder whose positions know nothing but their letter and their distance from the end."""

    def __init__(self, *, vocabulary: int, size: int = 16) -> None:
        super().__init__()
        self.letter, self.place, self.memory_size = nn.Embedding(vocabulary, size), nn.Embedding(16, size), 2 * size

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        places = (mask.sum(dim=1, keepdim=True) - 1 - torch.arange(tokens.shape[1])).clamp(min=0)
        return Memory(states=torch.cat([self.letter(tokens), self.place(places)], dim=2), mask=mask)


@pytest.mark.slow
def test_hard_attention_learns_to_look_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its rewards alone: nothing is soft."""
    monkeypatch.setitem(TABLE["encoder"], "letters", f"{__name__}:Letters")
    data = write_reversals(tmp_path / "many.tsv", 400)
    reader = {"kind": "before", "score": "additive", "normalise": {"kind": "hard", "soft_share": 0.0}}
    decoder = {"size": 48, "embedding_size": 32, "dropout": 0.0, "initial_state": "zeros", "reader": reader}
    config = configure(
        data,
        model={"encoder": {"kind": "letters"}, "decoder": decoder},
        updates=300,
        batch_tokens=512,
        learning_rate=0.005,
        validate_every=100,
        validation_pairs=100,
    )
    job = start(config, tmp_path / "run")
    looks = [event for event in job.loop.run() if isinstance(event, Validated)]
    assert looks[-1].metrics["exact_match"] >= 90
    task, model = job.loop.task, job.loop.model
    for word in ("abcdefg", "hgfe", "cabed"):
        ((output, *_),) = task.predict(model, [word], Greedy())
        weights = explain_text(task, model, word, output.ids).weights
        assert sorted(set(weights.flatten().tolist())) == [0, 1]
        assert weights[: len(word)].argmax(axis=1).tolist() == list(range(len(word)))[::-1], word


def test_an_encoder_that_chooses_is_refused(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Choosing(Letters):
        """Reads its positions with hard attention."""

        def __init__(self, *, vocabulary: int) -> None:
            from seq2see.nn.normalise import Hard

            super().__init__(vocabulary=vocabulary)
            self.hard = Hard()

        def forward(self, tokens: Tensor, mask: Tensor) -> Memory:
            memory = super().forward(tokens, mask)
            states = memory.states.unsqueeze(1)
            weights = self.hard(states @ states.transpose(2, 3), mask[:, None, None, :], states)
            return Memory(states=(weights @ states)[:, 0], mask=mask)

    monkeypatch.setitem(globals(), "Choosing", Choosing)
    monkeypatch.setitem(TABLE["encoder"], "choosing", f"{__name__}:Choosing")
    model = {"encoder": {"kind": "choosing"}, "decoder": {**with_reader()["decoder"], "initial_state": "zeros"}}
    job = start(configure(data, model=model), tmp_path / "run")
    with pytest.raises(Seq2SeeError, match="learns from what it sampled"):
        list(job.loop.run())
