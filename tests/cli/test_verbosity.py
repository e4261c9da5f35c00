"""How much commands say: --quiet, --verbose, a dry run, and errors that should not happen."""

from pathlib import Path

import pytest
from reversal import write_reversals

from command import refused, seq2see
from seq2see.cli.messages import take_verbosity, verbosity

SMALL = ["model.encoder.size=16", "model.decoder.size=16", "train.batch_tokens=256", "data.held_out=0.001"]
QUICK = ["train.updates=4", "train.validate_every=4", "search.max_length=8", "train.schedule=constant", *SMALL]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that was trained quietly."""
    folder = tmp_path_factory.mktemp("place")
    write_reversals(folder / "reversed.tsv", 80)
    result = seq2see("train", "reversed.tsv", *QUICK, "--out", "run", "-q", cwd=folder)
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert [line.partition(":")[0] for line in (lines[0], *lines[-2:])] == ["score", "report", "run"]
    assert len(lines) == 4  # and one on the agreement of attention
    return folder


def files(folder: Path) -> dict[Path, float]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_quiet_prints_results_and_errors_alone(place: Path) -> None:
    usual = seq2see("predict", place / "run", stdin="abZ\n")
    quiet = seq2see("predict", place / "run", "--quiet", stdin="abZ\n")
    assert "warning: the input has characters" in usual.stderr
    assert quiet.stdout == usual.stdout
    assert quiet.stderr == ""
    assert "no such run folder" in refused(seq2see("predict", place / "nowhere", "-q"))
    table = seq2see("evaluate", place / "run", place / "reversed.tsv", "-q")
    assert "exact_match" in table.stdout
    assert table.stderr == ""


def test_verbose_tells_versions_folders_threads_and_times(place: Path) -> None:
    result = seq2see("predict", place / "run", "-v", stdin="abc\n", cwd=place)
    first, second, *_, threads, took = result.stderr.splitlines()
    assert first.startswith("versions: seq2see ")
    assert f"here {place}; prepared data " in second
    assert threads.startswith("threads:  ")
    assert took.startswith("took: ")
    assert result.stdout == seq2see("predict", place / "run", stdin="abc\n").stdout


def test_words_after_two_dashes_are_no_options() -> None:
    words = ["seq2see", "-q", "inspect", "run", "--verbose", "--", "-v", "-q"]
    take_verbosity(words)
    assert words == ["seq2see", "inspect", "run", "--", "-v", "-q"]
    assert (verbosity.quiet, verbosity.verbose) == (True, True)
    take_verbosity([])
    assert (verbosity.quiet, verbosity.verbose) == (False, False)


def test_a_dry_run_tells_everything_and_writes_nothing(place: Path) -> None:
    before = files(place)
    plan = seq2see("train", "reversed.tsv", *QUICK, "--out", "new", "--dry-run", cwd=place)
    assert plan.returncode == 0, plan.stderr
    begins = [line.partition(":")[0] for line in plan.stdout.splitlines()]
    assert [name for name in dict.fromkeys(begins) if name != "warning"] == [
        "decided", "device", "data", "model", "time", "memory", "run folder",
    ]  # fmt: skip
    assert f"run folder: {place / 'new'}, a new one; nothing was written\n" in plan.stdout
    more = seq2see("train", "reversed.tsv", *QUICK, "train.updates=8", "--out", "run", "--dry-run", cwd=place)
    assert "going on, to 8 updates, with the weights of 8 updates in one go\n" in more.stdout
    assert f"run folder: {place / 'run'}, which has a run to go on with; nothing was written\n" in more.stdout
    other = seq2see("train", "reversed.tsv", *QUICK, "seed=2", "--out", "run", "--dry-run", cwd=place)
    assert "run holds another run (seed: 1 -> 2)" in refused(other)
    assert files(place) == before


def test_the_help_of_train_says_where_the_run_goes() -> None:
    assert "[default: (runs/NAME, by the name of the data)]" in " ".join(seq2see("train", "-h").stdout.split())


def test_what_should_not_happen_is_one_line_and_all_of_it_with_verbose(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a mistake\nof ours")

    monkeypatch.setattr("seq2see.config.load.preset_names", fail)
    result = seq2see("presets")
    assert result.returncode == 1
    start = "seq2see: this should not happen: KeyError: 'a mistake\\nof ours' (test_verbosity.py, line "
    assert result.stderr.startswith(start)
    assert result.stderr.endswith("please report what the same command with -v prints.\n")
    with pytest.raises(KeyError):
        seq2see("presets", "-v")
