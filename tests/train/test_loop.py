"""The training loop: resuming bit for bit, accumulation, patience, averaging, damage."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import configure, start, write_reversals

from seq2see.config.load import preset_names, read_preset
from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, ConfigError, Seq2SeeError
from seq2see.data.batch import collate
from seq2see.runs.checkpoint import average, read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.events import Finished, Resumed, Stepped, Validated

AVERAGED = {
    "average_checkpoints": 3,
    "monitor": "exact_match",
}  # which is none for all: the average is as good as the best


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def data(place: Path) -> Path:
    return write_reversals(place / "reversed.tsv")


@pytest.fixture(scope="module")
def straight(data: Path, place: Path) -> tuple[Path, list[Any]]:
    """A run from its first update to its last, and what it told on the way."""
    return place / "straight", run(start(configure(data), place / "straight"))


@pytest.fixture(scope="module")
def stopped(data: Path, place: Path) -> Path:
    """A run that was stopped after ten of its twelve updates."""
    job = start(configure(data), place / "stopped")
    run(job, stop_at(job, 10))
    return place / "stopped"


@pytest.fixture(scope="module")
def averaged(data: Path, place: Path) -> Path:
    """A run that ends with the average of its last checkpoints."""
    run(start(configure(data, **AVERAGED), place / "averaged"))
    return place / "averaged"


def run(job: Any, stop: Callable[[], bool] = lambda: False) -> list[Any]:
    return list(job.loop.run(stop))


def stop_at(job: Any, update: int) -> Callable[[], bool]:
    return lambda: job.loop.state.update >= update


def final_tensors(out: Path) -> dict[str, torch.Tensor]:
    return dict(read_checkpoint(RunFolder(out).checkpoints()[0]).tensors)


def assert_same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


HARD = {"accumulate": 2, "schedule": {"kind": "plateau", "patience": 1}, "weight_decay": 0.01, "label_smoothing": 0.1}


def test_stopping_anywhere_and_going_on_changes_no_bit(data: Path, tmp_path: Path) -> None:
    config = configure(data, **HARD)
    run(start(config, tmp_path / "straight"))
    for update in (1, 4, 7):  # before the first look, just after one, and between two
        out = tmp_path / f"stopped-{update}"
        job = start(config, out)
        last = run(job, stop_at(job, update))[-1]
        assert (last.update, last.complete) == (update, False)
        events = run(start(config, out))
        assert isinstance(events[0], Resumed)
        assert events[0].update == update
        assert_same(final_tensors(out), final_tensors(tmp_path / "straight"))
        rows, whole = (RunFolder(each).read_metrics() for each in (out, tmp_path / "straight"))
        assert [row["update"] for row in rows] == [4, 8, 12]
        assert [row["loss"] for row in rows] == [row["loss"] for row in whole], "of all updates since a validation"


def test_a_run_that_is_complete_stays_as_it_is(data: Path, straight: tuple[Path, list[Any]]) -> None:
    before = final_tensors(straight[0])
    events = run(start(configure(data), straight[0]))
    assert [type(event) for event in events] == [Resumed, Finished]
    assert events[-1].complete
    assert_same(before, final_tensors(straight[0]))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_goes_on(
    data: Path, straight: tuple[Path, list[Any]], stopped: Path, tmp_path: Path, damage: str
) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "damaged"))
    newest = RunFolder(out).checkpoints()[0]
    content = bytearray(newest.read_bytes())
    if damage == "flip":
        content[-5] ^= 1
    newest.write_bytes({"cut": content[: len(content) // 2], "flip": content, "empty": b""}[damage])
    resumed = run(start(configure(data), out))[0]
    assert resumed.update == 8
    assert str(newest) in resumed.skipped[0]
    assert_same(final_tensors(out), final_tensors(straight[0]))


def test_with_no_whole_checkpoint_the_run_is_refused(data: Path, stopped: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "run"))
    for path in RunFolder(out).checkpoints():
        path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="no checkpoint is whole"):
        run(start(configure(data), out))


def test_changed_data_is_refused(tmp_path: Path) -> None:
    data = write_reversals(tmp_path / "reversed.tsv")
    config = configure(data)
    job = start(config, tmp_path / "run")
    run(job, stop_at(job, 1))
    data.write_text(data.read_text().replace("a", "b"))
    with pytest.raises(CheckpointError, match="data has changed"):
        run(start(config, tmp_path / "run"))


def check_on(config: Config, held: Path) -> Config:
    """The same training with other held-out data."""
    return config.model_copy(update={"data": config.data.model_copy(update={"valid": str(held)})})


def test_changed_held_out_data_is_refused(tmp_path: Path) -> None:
    data, held = (write_reversals(tmp_path / name, seed=seed) for name, seed in (("train.tsv", 1), ("held.tsv", 2)))
    config = check_on(configure(data), held)
    job = start(config, tmp_path / "run")
    run(job, stop_at(job, 1))
    held.write_text(held.read_text().replace("a", "b"))
    with pytest.raises(CheckpointError, match="the held-out data has changed"):
        run(start(config, tmp_path / "run"))


def test_what_is_too_long_to_learn_from_is_not_checked_on(tmp_path: Path) -> None:
    data, held = write_reversals(tmp_path / "train.tsv"), write_reversals(tmp_path / "held.tsv", 8, seed=2)
    held.write_text(f"{held.read_text()}{'ab' * 300}\tba\nab\t{'ab' * 300}\n")
    config = check_on(configure(data), held)
    assert len(start(config, tmp_path / "run").valid) == 8


def test_a_checkpoint_of_another_model_is_refused(data: Path, stopped: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(stopped, tmp_path / "run"))
    job = start(configure(data), out)
    job.loop.model.register_buffer("new", torch.zeros(1))  # as another version of the same part might have
    with pytest.raises(CheckpointError, match="must fit the model of its configuration"):
        run(job)


def test_a_changed_config_is_refused_with_what_changed(data: Path, tmp_path: Path) -> None:
    start(configure(data), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"holds another run \(train.learning_rate: 0.004 -> 0.001\)"):
        start(configure(data, learning_rate=0.001), tmp_path / "run")


def test_a_folder_with_other_files_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(CheckpointError, match="other files and no run"):
        start(configure(data), tmp_path)


def test_accumulation_equals_a_big_batch(data: Path, tmp_path: Path) -> None:
    """Two batches of one update give the gradient of both together."""
    job = start(configure(data), tmp_path / "run")
    loop = job.loop
    loop.model.eval()  # no dropout
    rows = [list(range(10)), list(range(10, 30))]
    parts = []
    for chosen in (rows, [rows[0] + rows[1]]):
        for each in chosen:
            loop.task.loss(loop.model, collate(loop.store, torch.tensor(each).numpy())).total.backward()
        parts.append([parameter.grad.clone() for parameter in loop.model.parameters()])
        loop.learner.optimizer.zero_grad()
    torch.testing.assert_close(parts[0], parts[1], rtol=1e-4, atol=1e-4)


def test_patience_ends_a_training_that_no_longer_learns(data: Path, tmp_path: Path) -> None:
    config = configure(data, updates=400, validate_every=1, patience=2, learning_rate=1e-12)
    finished = run(start(config, tmp_path / "run"))[-1]
    assert finished.complete
    assert finished.update < 400
    assert "early stopping" in finished.reason


def test_the_average_of_the_last_checkpoints_predicts(averaged: Path) -> None:
    paths = RunFolder(averaged).checkpoints()
    assert [path.stem for path in paths] == ["update-000000012", "update-000000008", "update-000000004"]
    weights = [{n: t for n, t in read_checkpoint(p).tensors.items() if n.startswith("model.")} for p in paths]
    saved = read_checkpoint(RunFolder(averaged).weights_file).tensors
    for name, tensor in average(weights).items():
        torch.testing.assert_close(saved[name.removeprefix("model.")], tensor)


def test_the_best_weights_stay_where_the_average_is_worse(data: Path, tmp_path: Path) -> None:
    *_, looked, finished = run(
        start(configure(data, average_checkpoints=3), tmp_path / "run")
    )  # it still learns quickly
    assert looked.best
    assert (
        finished.reason == "all updates made; the best checkpoint is kept, for the average of the last 3 is no better"
    )
    last = read_checkpoint(RunFolder(tmp_path / "run").checkpoints()[0]).tensors
    for name, tensor in read_checkpoint(RunFolder(tmp_path / "run").weights_file).tensors.items():
        assert torch.equal(last[f"model.{name}"], tensor)


def test_a_stop_changes_nothing_of_the_average(data: Path, averaged: Path, tmp_path: Path) -> None:
    config = configure(data, **AVERAGED)
    job = start(config, tmp_path / "stopped")
    run(job, stop_at(job, 9))
    run(start(config, tmp_path / "stopped"))
    left, right = (dict(read_checkpoint(RunFolder(f).weights_file).tensors) for f in (averaged, tmp_path / "stopped"))
    assert_same(left, right)


def test_without_checkpoints_a_complete_run_stays_complete(
    data: Path, straight: tuple[Path, list[Any]], tmp_path: Path
) -> None:
    folder = RunFolder(Path(shutil.copytree(straight[0], tmp_path / "run")))
    before = folder.weights_file.read_bytes()
    for path in folder.checkpoints():
        path.unlink()
    (finished,) = run(start(configure(data), folder.path))
    assert (finished.update, finished.complete) == (12, True)
    assert folder.weights_file.read_bytes() == before


def test_patience_that_was_lost_before_a_kill_is_lost_after_it(data: Path, tmp_path: Path) -> None:
    config = configure(data, updates=400, validate_every=2, patience=2, learning_rate=1e-12)
    job = start(config, tmp_path / "run")
    for event in job.loop.run():
        if isinstance(event, Validated) and job.loop.state.stops_early(2):
            break  # killed after the look was saved
    assert run(start(config, tmp_path / "run"))[-1].update == event.update


def test_a_loss_that_is_no_number_is_never_the_best(data: Path, tmp_path: Path) -> None:
    job = start(configure(data), tmp_path / "run")
    measured = job.loop.evaluate
    looks = []

    def evaluate(share: Any) -> dict[str, float]:
        looks.append(measured(share) | ({"valid_loss": float("nan")} if not looks else {}))
        return looks[-1]

    job.loop.evaluate = evaluate
    assert [event.best for event in run(job) if isinstance(event, Validated)][:2] == [False, True]


def test_average_by_hand() -> None:
    mean = average([{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}])
    assert mean["w"].tolist() == [2.0, 4.0]


def test_the_gradient_is_clipped(data: Path, tmp_path: Path) -> None:
    job = start(configure(data, clip_gradient=0.5), tmp_path / "run")
    loop = job.loop
    for parameter in loop.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    seen = {}

    def watch(*_: Any) -> None:
        seen["norm"] = torch.nn.utils.get_total_norm([p.grad for p in loop.model.parameters()]).item()

    loop.learner.optimizer.register_step_pre_hook(watch)
    loop.learner.optimizer_step(0.1, tokens=1)
    assert seen["norm"] == pytest.approx(0.5, rel=1e-3)


def test_a_training_that_was_never_sound_has_no_best_weights(data: Path, tmp_path: Path) -> None:
    loop = start(configure(data, updates=4, validate_every=2), tmp_path / "run").loop
    with torch.no_grad():
        loop.model.decoder.output.bias += float("nan")
    with pytest.raises(Seq2SeeError, match="the held-out loss was never a number"):
        list(loop.run())
    assert not loop.folder.weights_file.exists()


def test_a_gradient_that_is_no_number_is_found_behind_a_loss_that_is_one(data: Path, tmp_path: Path) -> None:
    loop = start(configure(data, updates=100), tmp_path / "run").loop
    next(loop.model.encoder.parameters()).register_hook(lambda gradient: gradient * float("nan"))
    with pytest.raises(Seq2SeeError, match="the gradient was not a number 20 times"):
        list(loop.run())


def test_a_gradient_that_is_no_number_changes_nothing_and_many_are_an_error(data: Path, tmp_path: Path) -> None:
    job = start(configure(data, updates=100), tmp_path / "run")
    loop = job.loop
    before = [parameter.clone() for parameter in loop.model.parameters()]
    with torch.no_grad():
        loop.model.decoder.output.bias += float("nan")
    with pytest.raises(Seq2SeeError, match="not a number 20 times"):
        run(job)
    others = [p for n, p in loop.model.named_parameters() if n != "decoder.output.bias"]
    kept = [b for (n, _), b in zip(loop.model.named_parameters(), before, strict=True) if n != "decoder.output.bias"]
    assert all(torch.equal(left, right) for left, right in zip(others, kept, strict=True))


def test_events_tell_the_story(straight: tuple[Path, list[Any]]) -> None:
    out, events = straight
    assert [event.update for event in events if isinstance(event, Stepped)] == list(range(1, 13))
    looks = [event for event in events if isinstance(event, Validated)]
    assert [look.update for look in looks] == [4, 8, 12]
    assert {"valid_loss", "exact_match", "cer", "bleu", "chrf"} <= looks[0].metrics.keys()
    assert list((out / "tensorboard").iterdir())
    assert not list(out.rglob("*.draft"))
    assert not list(out.rglob("*.pkl")) + list(out.rglob("*.pt"))


LARGE = {"gnmt2016", "transformer-base"}  # each has a smaller sister, which is the same family


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(set(preset_names(task="transduction", images=False)) - LARGE))
def test_every_family_overfits_64_reversed_strings(data: Path, tmp_path: Path, preset: str) -> None:
    largest = {"size": 48, "embedding_size": 32, "inner_size": 96, "layers": 3, "heads": 4, "rows": 16, "dropout": 0.0}
    written = read_preset(preset)[0]
    halves = {half: written["model"][half] for half in ("encoder", "decoder")}
    model = {half: {k: min(v, given[k]) for k, v in largest.items() if k in given} for half, given in halves.items()}
    if halves["encoder"].get("directions") == "both" and halves["decoder"]["initial_state"] == "copy":
        model["encoder"]["size"] = model["decoder"]["size"] // 2  # what is carried over is of both ways together
    config = configure(
        data,
        preset=preset,
        tokens=dict.fromkeys(written["tokens"], "characters"),
        model=model,
        updates=400,
        batch_tokens=512,
        schedule={"kind": "constant", "warmup": 50},
        validate_every=25,
        validation_pairs=64,
    )
    looks: list[float] = []
    for event in start(config, tmp_path / "run").loop.run(lambda: looks[-1:] == [100.0]):
        if isinstance(event, Validated):
            looks.append(event.metrics["exact_match"])
    assert looks[-1] == 100, looks
