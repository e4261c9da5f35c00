"""What commands print where there is no terminal: one line an event, however long it is, and no frames."""

import re
import shutil
from pathlib import Path

import pytest
from reversal import write_reversals

from command import Result, seq2see

QUICK = ["preset=bahdanau2015", "train.updates=4", "train.validate_every=2", "train.batch_tokens=256"]
QUICK += ["model.encoder.size=16", "model.decoder.size=16", "search.max_length=8"]
LONG = Path("a-folder-whose-name-is-longer-than-eighty-columns-of-a-terminal") / "and-a-further-folder-inside-of-it"
FRAME = re.compile("[┏┓┗┛┡┩━┃│└┘─\r]")
MEANING = "An attention weight says where the model attended, not that its output needed what is there."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data."""
    folder = tmp_path_factory.mktemp("logs")
    write_reversals(folder / "pairs.tsv", 80)
    write_reversals(folder / "test.tsv", 12, seed=2)
    return folder


@pytest.fixture(scope="module")
def log(place: Path) -> Result:
    """What a training in a folder with a long name has printed."""
    return run(place, "train", "pairs.tsv", *QUICK, "--test", "test.tsv", "--out", LONG / "run")


def run(place: Path, *words: object) -> Result:
    result = seq2see(*words, cwd=place)
    assert result.returncode == 0, result.stderr
    assert not FRAME.search(result.stdout + result.stderr)
    return result


def find(pattern: str, text: str) -> list[str]:
    """The whole lines that a pattern matches from their beginning to their end."""
    return re.findall(f"^{pattern}$", text, re.MULTILINE)


@pytest.mark.slow
def test_a_training_has_one_line_for_each_validation_metric_and_path(log: Result) -> None:
    validation = r"update +[24]  loss \d\.\d+  held-out loss .* tokens/s"
    assert len(find(validation, log.stderr)) == 2
    assert find(rf"report: +{LONG}/run/report.html", log.stderr)
    assert find(rf"images: +{LONG}/run/attention", log.stderr)
    assert find(r"chrf +\d+\.\d\d +nrefs:1.*\|form:nfc", log.stderr)
    assert find(rf"{MEANING} .*", log.stderr)
    assert find(rf"try it: +echo \w+ \| seq2see predict {LONG}/run", log.stderr)


@pytest.mark.slow
def test_a_resumed_training_has_whole_lines(place: Path, log: Result) -> None:
    result = run(place, "resume", LONG / "run", "--updates", 6)
    assert find(r"update +6  loss \d\.\d+  held-out loss .* tokens/s", result.stderr)
    assert find(rf"report: +{LONG}/run/report.html", result.stderr)


@pytest.mark.slow
def test_commands_on_a_run_have_whole_lines(place: Path, log: Result) -> None:
    shown = run(place, "evaluate", LONG / "run", "test.tsv").stdout
    assert find(rf"{LONG}/run on 12 pairs", shown)
    assert find(r"cer +\d+\.\d\d +cer\|.*", shown)
    assert find(rf"{MEANING} .*", run(place, "inspect", LONG / "run", "abcde").stdout)
    many = "abcde " * 30
    assert find(rf"'{many.strip()[:70]}.*-> '.*'", run(place, "inspect", LONG / "run", many.strip()).stdout)
    shutil.copytree(place / LONG / "run", place / LONG / "copy")
    compared = run(place, "compare", LONG / "run", LONG / "copy", "--data", "test.tsv", "--beam", 1).stdout
    assert find(r"chrF: nrefs:1.*", compared)
    predicted = run(place, "predict", LONG / "run", "pairs.tsv", "--lines")
    assert len(predicted.stdout.splitlines()) == 80


def test_commands_without_a_run_have_whole_lines(place: Path) -> None:
    (place / LONG).mkdir(parents=True, exist_ok=True)
    write_reversals(place / LONG / "pairs.tsv", 60)
    assert find(rf"train: .*{LONG}/pairs.tsv", run(place, "doctor", LONG / "pairs.tsv").stdout)
    parts = run(place, "parts", "encoder").stdout
    assert max(map(len, parts.splitlines())) > 120
    assert find(r".*: \d+ files, .* MB", run(place, "cache").stdout)
