"""Every preset trains, resumes, predicts and explains as on the CPU, on a device as strict as an accelerator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from halves import shrink, write_halves
from reversal import start, write_reversals

import seq2see
from seq2see.config.load import load_config, preset_names, read_preset
from seq2see.core.errors import ConfigError
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run
from seq2see.system import devices
from seq2see.system.devices import choose_device
from seq2see.testing import counting_looks, pretend_device
from seq2see.training.batch_order import order_batches
from seq2see.training.events import Stepped
from seq2see.training.job import Job
from seq2see.training.precision import FIRST_FACTOR, UPDATES_TO_DOUBLE, Precision

SIZES = {"size": 16, "embedding_size": 16, "inner_size": 32, "rows": 8, "width": 6}
SEARCHES: list[Any] = [
    {"beam": 1},
    {"beam": 3, "n_best": 2, "no_repeat": 2, "ban": ["b"]},
    {"temperature": 0.9, "top_k": 5, "seed": 3},
    {"beam": 3, "mbr_power": 1.0, "mbr_samples": 3},
]


def make_smaller(spec: dict[str, Any]) -> dict[str, Any]:
    """The same part of a model for texts with few channels and layers."""
    smaller = {name: value for name, value in SIZES.items() if name in spec and (name != "width" or "rows" in spec)}
    if spec.get("directions") == "both":
        smaller["size"] = 8
    return smaller | ({"layers": 4 if "residual_from" in spec else min(spec["layers"], 2)} if "layers" in spec else {})


def write_data(preset: str, folder: Path) -> Path:
    """A few pairs of the kind that a preset reads."""
    if preset in preset_names(images=True):
        return write_halves(folder)
    file = write_reversals(folder / "pairs.tsv", 24)
    if read_preset(preset)[0].get("task") == "classification":
        rows = [line.split("\t")[0] for line in file.read_text().splitlines()]
        file.write_text("".join(f"{' '.join(word)}.\t{'early' if word[0] < 'd' else 'late'}\n" for word in rows))
    return file


def configure(preset: str, data: Path, device: torch.device, **train: Any) -> Any:
    """A preset in a small size, for six updates on a device."""
    written, _ = read_preset(preset)
    images = preset in preset_names(images=True)
    change = shrink if images else make_smaller
    halves = {half: change(written["model"][half]) for half in ("encoder", "decoder") if half in written["model"]}
    tokens: dict[str, Any] = {"source": {"size": 16, "mirror": False}} if images else {}
    tokens |= {"target": {"min_count": 1}} if images and "target" in written["tokens"] else {}
    options = {"updates": 6, "batch_tokens": 64, "accumulate": 1, "validate_every": 3, "validation_pairs": 4}
    options |= {"threads": 1, "workers": 1, "device": device.type, "label_smoothing": 0.1, **train}
    base: dict[str, Any] = {"preset": preset, "data": {"train": str(data), "valid": str(data)}}
    base |= {"init": {"embeddings": "train"}} if preset == "han2016" else {}
    return load_config(base={**base, "tokens": tokens, "model": halves, "train": options}).config


def train(preset: str, data: Path, out: Path, device: torch.device, **options: Any) -> list[float]:
    """Train in two parts, the second from the checkpoint of the first; return the loss of every update."""
    config = configure(preset, data, device, **options)
    losses = []
    for last in (4, 6):
        job = start(config, out)
        assert job.loop.model.device.type == device.type
        losses += [event.loss for event in job.loop.run(make_stop(job, last)) if isinstance(event, Stepped)]
    return losses


def make_stop(job: Job, update: int) -> Any:
    return lambda: job.loop.state.update >= update


def predict(run: Run, sources: list[str]) -> Iterator[tuple[str, float]]:
    """Texts and scores of every kind of search."""
    for options in SEARCHES if run.task.writes_text else [{}]:
        for prediction in run.predict(sources, **options):
            yield from ((one.text, one.score) for one in (prediction, *prediction.alternatives))


def explain(run: Run, source: str) -> list[float]:
    """The numbers behind an explanation: drops of probability, and attention if there is any."""
    prediction = run.predict(source)
    trace = prediction.faithfulness.to_dict()
    return list(list_numbers(trace))


def list_numbers(value: Any) -> Iterator[float]:
    """All numbers in nested lists and dictionaries."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from list_numbers(each)
    elif isinstance(value, float):
        yield value


@pytest.fixture
def pretend() -> torch.device:
    """The device that is as strict as an accelerator."""
    return pretend_device()


@pytest.mark.slow
@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_the_same_on_any_device(preset: str, tmp_path: Path, pretend: torch.device) -> None:
    data, runs = write_data(preset, tmp_path), {}
    sources = [line.split("\t")[0] for line in data.read_text().splitlines()[:3]]
    for device in (torch.device("cpu"), pretend):
        out = tmp_path / device.type
        losses = train(preset, data, out, device)
        run = seq2see.load(out, device=device.type)
        assert run.model.device.type == device.type
        runs[device.type] = (losses, list(predict(run, sources)), explain(run, sources[0]))
    losses, predictions, numbers = runs["cpu"]
    also_losses, also_predictions, also_numbers = runs["pretend"]
    assert also_losses == pytest.approx(losses, rel=1e-3)
    assert [text for text, _ in also_predictions] == [text for text, _ in predictions]
    assert [score for _, score in also_predictions] == pytest.approx([score for _, score in predictions], abs=1e-2)
    assert also_numbers == pytest.approx(numbers, abs=1e-2)


def test_a_run_goes_on_on_another_device(tmp_path: Path, pretend: torch.device) -> None:
    data, losses = write_data("bahdanau2015", tmp_path), {}
    for name, places in {"straight": ("cpu", "cpu"), "moved": ("cpu", "pretend"), "back": ("pretend", "cpu")}.items():
        losses[name] = []
        for last, device in zip((4, 6), places, strict=True):
            job = start(configure("bahdanau2015", data, torch.device(device)), tmp_path / name)
            losses[name] += [event.loss for event in job.loop.run(make_stop(job, last)) if isinstance(event, Stepped)]
        assert len(losses[name]) == 6
    assert losses["moved"] == pytest.approx(losses["straight"], rel=1e-4)
    assert losses["back"] == pytest.approx(losses["straight"], rel=1e-4)


def test_a_device_that_is_not_there_is_refused_in_one_sentence() -> None:
    with pytest.raises(ConfigError, match="there is no cuda; got cuda; take auto"):
        choose_device("cuda")
    with pytest.raises(ConfigError, match="a device must be auto, cpu, cuda, mps, xpu or one such"):
        choose_device("gpu")


def test_auto_takes_the_best_device_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"cuda": 0, "mps": 0, "xpu": 0}
    monkeypatch.setattr(devices, "ACCELERATORS", {kind: (lambda kind=kind: there[kind]) for kind in there})
    assert choose_device() == torch.device("cpu")
    for kind in ("xpu", "mps", "cuda"):
        there[kind] = 2
        assert choose_device() == torch.device(kind)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match="there is only 2 of cuda; got cuda:2"):
        choose_device("cuda:2")


def count_looks(run: Run, source: str, **options: Any) -> tuple[int, int]:
    """How often the host looked at the device for one output, and how many tokens that has."""
    with counting_looks() as looks:
        prediction = run.predict(source, **options)
    return looks(), len(prediction.ids)


@pytest.mark.parametrize(("options", "bound"), [({"temperature": 1.0}, 1), ({"beam": 1}, 3), ({"beam": 4}, 3)])
def test_a_decoded_token_costs_few_looks_at_the_device(
    options: Any, bound: int, tmp_path: Path, pretend: torch.device
) -> None:
    data = write_data("transformer-tiny", tmp_path)
    train("transformer-tiny", data, tmp_path / "run", pretend)
    run = seq2see.load(tmp_path / "run", device="pretend")
    few, many = (count_looks(run, "abc", min_length=n, max_length=n + 1, **options)[0] for n in (5, 25))
    assert (many - few) / 20 <= bound


def test_an_update_costs_few_looks_at_the_device(tmp_path: Path, pretend: torch.device) -> None:
    job = start(configure("transformer-tiny", write_data("transformer-tiny", tmp_path), pretend), tmp_path / "run")
    batches = order_batches(job.loop.store, job.loop.config, job.loop.state)
    for update in (1, 2):
        _, _, batch = next(batches)
        with counting_looks() as looks:
            job.loop.workers.work(update, [batch], 0.001)
    assert looks() <= 6


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_fewer_bits_train_and_resume_bit_for_bit(precision: str, tmp_path: Path) -> None:
    data, cpu = write_data("luong2015", tmp_path), torch.device("cpu")
    straight = start(configure("luong2015", data, cpu, precision=precision), tmp_path / "straight")
    losses = [event.loss for event in straight.loop.run() if isinstance(event, Stepped)]
    assert train("luong2015", data, tmp_path / "resumed", cpu, precision=precision) == losses
    first, second = (read_checkpoint(RunFolder(tmp_path / name).weights_file) for name in ("straight", "resumed"))
    assert all(torch.equal(tensor, second.tensors[name]) for name, tensor in first.tensors.items())
    assert {tensor.dtype for tensor in first.tensors.values()} == {torch.float32}
    exact = train("luong2015", data, tmp_path / "exact", cpu)
    assert losses == pytest.approx(exact, rel=0.02)
    assert losses != exact
    assert seq2see.load(tmp_path / "resumed").predict("abc").tokens


def test_the_factor_of_float16_falls_with_an_overflow_and_rises_after_many_updates() -> None:
    precision = Precision("float16")
    precision.observe(finite=False)
    assert precision.factor == FIRST_FACTOR / 2
    for _ in range(UPDATES_TO_DOUBLE - 1):
        precision.observe(finite=True)
    saved = precision.dump()
    precision.observe(finite=True)
    assert precision.factor == FIRST_FACTOR
    again = Precision("float16")
    again.restore(saved)
    assert again.factor == FIRST_FACTOR / 2
    again.observe(finite=True)
    assert again.factor == FIRST_FACTOR
    assert Precision("bfloat16").dump() == {}
