"""Training from Python: the call, its data, its settings, its events, and going on with a run."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import SMALL, write_reversals

import seq2see
from seq2see.config.load import load_config
from seq2see.core.errors import CheckpointError, ConfigError, DataError, SearchError
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.api import Training
from seq2see.training.arguments import make_request, resume_request
from seq2see.training.launch import prepare_training
from seq2see.training.training_data import name_new_folder

TRAIN = {"updates": 8, "batch_tokens": 64, "validate_every": 4, "validation_pairs": 8, "schedule": "constant"}
OPTIONS: dict[str, Any] = {"preset": "bahdanau2015", "model": SMALL, "progress": False}
FIT = {name: value for name, value in OPTIONS.items() if name != "progress"}
LABELS = [(f"{word} {number % 7}", word) for number in range(40) for word in ("good", "bad")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def file(place: Path) -> Path:
    return write_reversals(place / "reversed.tsv")


@pytest.fixture(scope="module")
def pairs(file: Path) -> list[tuple[str, str]]:
    return [(source, target) for source, target in (line.split("\t") for line in file.read_text().splitlines())]


@pytest.fixture(scope="module")
def run(pairs: list[tuple[str, str]], place: Path) -> seq2see.Run:
    """Eight updates on a list of pairs."""
    return seq2see.train(pairs, out=place / "eight", train=TRAIN, **OPTIONS)


def weights(path: Path) -> dict[str, torch.Tensor]:
    return dict(read_checkpoint(RunFolder(path).weights_file).tensors)


def state(path: Path) -> dict[str, torch.Tensor]:
    """Weights and optimizer of the newest checkpoint."""
    return dict(read_checkpoint(RunFolder(path).checkpoints()[0]).tensors)


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_a_list_of_pairs_is_trained_as_their_file_is(
    pairs: list[tuple[str, str]], file: Path, run: seq2see.Run, tmp_path: Path
) -> None:
    other = seq2see.train(file, out=tmp_path / "run", train=TRAIN, **OPTIONS)
    assert same(weights(run.folder.path), weights(other.folder.path))
    assert run.predict(pairs[0][0]).text == other.predict(pairs[0][0]).text


def test_the_same_call_again_gives_the_same_run(pairs: list[tuple[str, str]], run: seq2see.Run) -> None:
    before = run.folder.weights_file.stat().st_mtime_ns
    again = seq2see.train(iter(pairs), out=run.folder.path, train=TRAIN, **OPTIONS)
    assert again.folder == run.folder
    assert again.folder.weights_file.stat().st_mtime_ns == before


def test_other_pairs_or_settings_are_refused_in_the_folder_of_a_run(
    pairs: list[tuple[str, str]], run: seq2see.Run
) -> None:
    with pytest.raises(CheckpointError, match="the training data has changed since this run began"):
        seq2see.train(pairs[1:], out=run.folder.path, train=TRAIN, **OPTIONS)
    with pytest.raises(ConfigError, match=r"holds another run \(seed: 1 -> 2\)"):
        seq2see.train(pairs, out=run.folder.path, train={**TRAIN, "updates": 9}, seed=2, **OPTIONS)


def test_a_run_from_memory_can_be_moved(
    pairs: list[tuple[str, str]], run: seq2see.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run.save("moved")
    assert load_config(file=tmp_path / "moved" / "config.yaml").config.data.train == str(
        tmp_path / "moved/data/train.jsonl"
    )
    assert seq2see.resume("moved", updates=12, progress=False).config.train.updates == 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train": {"updatse": 3}}, r"train.updatse=3: there is no key 'train.updatse'; did you mean 'updates'\?"),
        ({"train.updates": "many"}, "train.updates='many': train.updates must be a valid integer; got 'many'"),
        ({"trian": {"updates": 3}}, r"there is no key 'trian'; did you mean 'train'\?"),
        ({"train": 3}, "train must be a section of keys"),
        ({"preset": "bahdanau2051"}, "there is no preset 'bahdanau2051'; did you mean 'bahdanau2015'"),
    ],
)
def test_settings_are_checked_and_a_mistake_leaves_no_folder(
    pairs: list[tuple[str, str]], tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        seq2see.train(pairs, out=tmp_path / "run", progress=False, **settings)
    assert not (tmp_path / "run").exists()


def test_sections_and_dotted_keys_say_the_same(file: Path, tmp_path: Path) -> None:
    sections = {"train": {"updates": 7}, "data": {"held_out": 0.25}, "seed": 3}
    dotted = {"train.updates": 7, "data.held_out": 0.25, "seed": 3}
    configs = [make_request(file, out=tmp_path, settings=each).loaded.config for each in (sections, dotted)]
    assert configs[0] == configs[1]
    assert (configs[0].train.updates, configs[0].data.held_out, configs[0].seed) == (7, 0.25, 3)


def test_a_folder_with_other_files_is_refused_and_keeps_them(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text("mine")
    with pytest.raises(CheckpointError, match="other files and no run"):
        seq2see.train(pairs, out=tmp_path, progress=False)
    assert (tmp_path / "data" / "train.jsonl").read_text() == "mine"


def test_a_run_in_the_place_of_data_is_told_what_to_do(run: seq2see.Run) -> None:
    for given in (run, run.folder.path, str(run.folder.path)):
        with pytest.raises(ConfigError, match="holds a run; to go on with it, resume it"):
            seq2see.train(given)


def test_without_out_every_call_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert name_new_folder("dates") == Path("runs/dates-1")
    Path("runs/dates-1").mkdir(parents=True)
    assert name_new_folder("dates") == Path("runs/dates-2")


def test_splits_are_taken_from_a_dictionary(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    splits = {"train": pairs[:40], "validation": pairs[40:50], "test": pairs[50:]}
    run = seq2see.train(splits, out=tmp_path / "run", train={**TRAIN, "updates": 4}, **OPTIONS)
    names = {name: Path(str(getattr(run.config.data, name))).name for name in ("train", "valid", "test")}
    assert names == {"train": "train.jsonl", "valid": "valid.jsonl", "test": "test.jsonl"}


def test_events_come_one_by_one_and_closing_saves(
    pairs: list[tuple[str, str]], run: seq2see.Run, tmp_path: Path
) -> None:
    for last in (3, 4):  # between two validations, and at an update that a validation is to follow
        training = seq2see.fit(pairs, out=tmp_path / f"closed-{last}", train=TRAIN, **FIT)
        for event in training:
            if isinstance(event, seq2see.Stepped) and event.update == last:
                break
        training.close()
        events = list(seq2see.fit(pairs, out=training.folder, train=TRAIN, **FIT))
        assert events[0] == seq2see.Resumed(last, ())
        assert isinstance(events[-1], seq2see.Finished)
        assert same(weights(training.folder), weights(run.folder.path))
        assert same(state(training.folder), state(run.folder.path))
        assert [row["update"] for row in RunFolder(training.folder).read_metrics()] == [4, 8]


def test_a_loop_that_is_left_saves_too(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    for event in seq2see.fit(pairs, out=tmp_path / "run", train=TRAIN, **FIT):
        if event.update == 2:
            break
    assert [path.stem for path in RunFolder(tmp_path / "run").checkpoints()] == ["update-000000002"]


def test_ctrl_c_saves_and_the_same_call_goes_on(
    pairs: list[tuple[str, str]], run: seq2see.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seq2see.training import api

    show = api.ProgressView.show

    def interrupt(view: Any, event: Any) -> None:
        show(view, event)
        if event.update == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(api.ProgressView, "show", interrupt)
        with pytest.raises(KeyboardInterrupt):
            seq2see.train(pairs, out=tmp_path / "run", train=TRAIN, **OPTIONS)
    assert RunFolder(tmp_path / "run").checkpoints()[0].stem == "update-000000005"
    again = seq2see.train(pairs, out=tmp_path / "run", train=TRAIN, **OPTIONS)
    assert same(weights(again.folder.path), weights(run.folder.path))


@pytest.mark.parametrize("more", [{}, {"average_checkpoints": 2}, {"ema": 0.9}], ids=["best", "average", "ema"])
def test_more_updates_give_the_weights_of_all_in_one_go(
    pairs: list[tuple[str, str]], tmp_path: Path, more: dict[str, Any]
) -> None:
    train = {**TRAIN, "monitor": "exact_match", **more}  # none is exact: the first validation is the best
    whole = seq2see.train(pairs, out=tmp_path / "whole", train={**train, "updates": 16}, **OPTIONS)
    parts = seq2see.train(pairs, out=tmp_path / "parts", train=train, **OPTIONS)
    assert not same(state(whole.folder.path), state(parts.folder.path))
    parts = seq2see.resume(parts, updates=16, progress=False)
    assert same(state(whole.folder.path), state(parts.folder.path))
    assert same(weights(whole.folder.path), weights(parts.folder.path))
    drop = {"seconds", "tokens_per_second"}
    rows = [
        [{k: v for k, v in row.items() if k not in drop} for row in each.folder.read_metrics()]
        for each in (whole, parts)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("train", "why"),
    [
        ({"updates": 6}, "they would have no validation at update 6 (train.validate_every=4)"),
        ({"schedule": "cosine"}, "train.schedule (cosine) follows the number of updates"),
        ({"scheduled_sampling": 0.5}, "train.scheduled_sampling follows the number of updates"),
    ],
)
def test_a_training_that_cannot_be_that_of_one_go_says_why(
    pairs: list[tuple[str, str]], tmp_path: Path, train: dict[str, Any], why: str
) -> None:
    seq2see.train(pairs, out=tmp_path / "run", train={**TRAIN, **train}, **OPTIONS)
    training = seq2see.fit(pairs, out=tmp_path / "run", train={**TRAIN, **train, "updates": 12}, **FIT)
    assert training.job.going_on == f"going on, to 12 updates; 12 updates in one go would differ, because {why}"
    assert next(training).update == train.get("updates", 8)
    training.close()
    again = seq2see.fit(pairs, out=tmp_path / "run", train={**TRAIN, **train, "updates": 12}, **FIT)
    assert again.job.going_on == ""
    again.close()


def test_more_updates_on_other_data_leave_the_run_as_it_is(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    write_reversals(tmp_path / "pairs.tsv")
    run = seq2see.train(tmp_path / "pairs.tsv", out=tmp_path / "run", train=TRAIN, **OPTIONS)
    before = run.folder.config_file.read_text()
    write_reversals(tmp_path / "pairs.tsv", 70)
    with pytest.raises(CheckpointError, match="data has changed since this run began"):
        seq2see.train(tmp_path / "pairs.tsv", out=tmp_path / "run", train={**TRAIN, "updates": 12}, **OPTIONS)
    assert run.folder.config_file.read_text() == before


def test_going_on_after_an_average_begins_with_the_best_weights(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    train = {**TRAIN, "monitor": "exact_match"}  # none is exact: the first validation is the best
    best = seq2see.train(pairs, out=tmp_path / "best", train=train, **OPTIONS).folder.path
    averaged = seq2see.train(pairs, out=tmp_path / "mean", train={**train, "average_checkpoints": 2}, **OPTIONS)
    assert not same(weights(averaged.folder.path), weights(best))
    training = Training(prepare_training(resume_request(averaged, updates=12)))
    assert next(training) == seq2see.Resumed(8, ())
    assert same(weights(averaged.folder.path), weights(best))


def test_going_on_keeps_the_reasons_in_the_configuration(file: Path, tmp_path: Path) -> None:
    options = {**OPTIONS, "model": {}}
    run = seq2see.train(file, out=tmp_path / "run", **{"train.updates": 2, "train.validate_every": 2}, **options)
    reason = "# characters, because nearly all texts have at most 64 of them\ntokens:"
    assert reason in run.folder.config_file.read_text()
    seq2see.resume(run, updates=4, progress=False)
    assert reason in run.folder.config_file.read_text()


def test_going_on_is_refused_where_it_would_change_nothing(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    train = {**TRAIN, "updates": 400, "validate_every": 1, "patience": 2, "learning_rate": 1e-12}
    run = seq2see.train(pairs, out=tmp_path / "run", train=train, **OPTIONS)
    before = run.folder.config_file.read_text()
    made = RunFolder(tmp_path / "run").checkpoints()[0]
    with pytest.raises(ConfigError, match=r"the training stopped early at update .*, so patience must be more than 2"):
        seq2see.resume(run, updates=500, progress=False)
    with pytest.raises(ConfigError, match=r"updates must be more than the \d+ made; got 1"):
        seq2see.resume(run, updates=1, progress=False)
    assert run.folder.config_file.read_text() == before
    seq2see.resume(run, progress=False)  # it is complete
    assert RunFolder(tmp_path / "run").checkpoints()[0] == made
    seq2see.resume(run, updates=int(made.stem[-4:]) + 3, patience=0, progress=False)
    assert RunFolder(tmp_path / "run").checkpoints()[0] != made


def test_fine_tuning_starts_from_the_weights_of_a_run(run: seq2see.Run, tmp_path: Path) -> None:
    new = [("abz", "zba"), ("bcz", "zcb"), ("cdx", "xdc"), ("hgf", "fgh")] * 3
    training = seq2see.fit(new, valid=[("abc", "cba")], init=run, out=tmp_path / "run", train={"updates": 2})
    assert same(dict(training.job.loop.model.state_dict()), weights(run.folder.path))
    count = len(list(training.job.loop.model.parameters()))
    assert training.job.taken == [
        f"all weights from {run.folder.path}: {count} of {count} tensors",
        "2 source tokens of the data are unknown to its tokenizer, 9 times: 'z', 'x'",
    ]
    list(training)
    tuned = training.load()
    assert tuned.folder._tokenizer_digest("source") == run.folder._tokenizer_digest("source")
    assert tuned.config.train.updates == 2
    assert tuned.config.model == run.config.model
    assert not same(weights(tuned.folder.path), weights(run.folder.path))


def test_fine_tuning_goes_on_without_the_run_it_started_from(run: seq2see.Run, tmp_path: Path) -> None:
    new = [("abc", "cba"), ("bcd", "dcb"), ("hgf", "fgh"), ("fed", "def")]
    run.save(tmp_path / "start")
    options: dict[str, Any] = {"init": tmp_path / "start", "out": tmp_path / "run", "train": {"updates": 4}}
    for event in seq2see.fit(new, **options):
        if event.update == 2:
            break
    (tmp_path / "start").rename(tmp_path / "gone")
    assert next(seq2see.fit(new, **options)) == seq2see.Resumed(2, ())


def test_a_classifier_is_fine_tuned_with_its_labels(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "preset": "bigru-attention",
        "model": {"encoder": {"size": 8, "embedding_size": 8}},
        "train": {"updates": 4, "validate_every": 4, "batch_tokens": 256},
        "progress": False,
    }
    run = seq2see.train(LABELS, out=tmp_path / "run", **options)
    training = seq2see.fit(LABELS[:20], init=run, out=tmp_path / "tuned", train={"updates": 2})
    assert same(dict(training.job.loop.model.state_dict()), weights(run.folder.path))
    with pytest.raises(DataError, match="the label 'new' does not occur in the training data"):
        seq2see.fit([*LABELS[:20], ("a", "new"), ("b", "new")], init=run, out=tmp_path / "new")


def test_a_run_is_evaluated_on_pairs_as_on_their_file(
    pairs: list[tuple[str, str]], file: Path, run: seq2see.Run
) -> None:
    by_pairs, by_file = run.evaluate(pairs), run.evaluate(file)
    assert [(each.name, each.value) for each in by_pairs.metrics] == [
        (each.name, each.value) for each in by_file.metrics
    ]
    assert {"exact_match", "cer", "chrf", "perplexity"} <= {each.name for each in by_pairs.metrics}
    assert all(each.signature for each in by_pairs.metrics)
    assert len(by_pairs.predictions) == len(pairs)


def test_decoding_options_hold_for_evaluations_and_comparisons(
    pairs: list[tuple[str, str]], run: seq2see.Run, tmp_path: Path
) -> None:
    assert all(len(each.ids) == 3 for each in run.evaluate(pairs[:4], min_length=3, max_length=3).predictions)
    run.save(tmp_path / "copy")
    found = seq2see.compare([run, tmp_path / "copy"], pairs[:4], min_length=3, max_length=3)
    assert all(len(each.ids) == 3 for compared in found.runs for each in compared.predictions)
    with pytest.raises(SearchError, match="did you mean 'beam'"):
        run.evaluate(pairs[:4], baem=3)  # type: ignore[call-arg]


def test_runs_are_compared_and_words_aligned_from_python(
    pairs: list[tuple[str, str]], run: seq2see.Run, tmp_path: Path
) -> None:
    run.save(tmp_path / "copy")
    found = seq2see.compare([run, tmp_path / "copy"], pairs[:12])
    assert [each.name for each in found.runs] == ["eight", "copy"]
    assert len(found.runs[0].predictions) == 12
    aligned = seq2see.align(run, [("abc", "cba"), ("ab", "ba")])
    assert len(aligned.links) == 2


def test_a_saved_run_is_whole_and_nothing_is_written_over(run: seq2see.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "copy")
    left, right = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()}
        for f in (run.folder.path, tmp_path / "copy")
    )
    assert left == right
    with pytest.raises(CheckpointError, match="a run must be saved where nothing is yet"):
        run.save(tmp_path / "copy")
