"""Command lines that cannot be understood: one sentence says what was meant."""

from pathlib import Path

import pytest
from reversal import write_reversals
from typer.main import get_group

from command import refused, seq2see
from seq2see.cli.app import app


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("trian", "no such command 'trian'; did you mean 'train'?"),
        ("train x.tsv --lr 3", "there is no option --lr; did you mean train.learning_rate=...?"),
        (
            "train x.tsv --epochs=3",
            "there is no option --epochs; did you mean train.updates=..., which counts batches and not times through "
            "the data?",
        ),
        (
            "train x.tsv --batch-size 3",
            "there is no option --batch-size; did you mean train.batch_tokens=..., which counts tokens and not pairs?",
        ),
        ("train x.tsv --seed 3", "there is no option --seed; did you mean seed=...?"),
        ("train x.tsv --output x", "there is no option --output; did you mean --out?"),
        (
            "train x.tsv --model x",
            "there is no option --model; did you mean preset=..., a name of seq2see presets?",
        ),
        ("train x.tsv --validd x", "there is no option --validd; did you mean '--valid'?"),
        ("predict run --num-beams 3", "there is no option --num-beams; did you mean --beam?"),
        ("predict run --lr 3", "there is no option --lr; seq2see predict --help tells what there is."),
        ("predict", "missing argument 'run'; seq2see predict --help tells what there is."),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_was_meant(words: str, sentence: str) -> None:
    assert refused(seq2see(*words.split())) == f"seq2see: {sentence}"


def test_epochs_are_counted_in_updates_of_the_data(tmp_path: Path) -> None:
    write_reversals(tmp_path / "pairs.tsv", 100)
    said = refused(seq2see("train", tmp_path / "pairs.tsv", "train.epochs=4", "train.batch_tokens=64"))
    length = sum(len(line.partition("\t")[0]) + 1 for line in (tmp_path / "pairs.tsv").read_text().splitlines())
    assert said == (
        "seq2see: train.epochs=4: the length of a training is set in updates, and about "
        f"{round(length / 64)} updates of 64 tokens go through this data once; write "
        f"train.updates={round(4 * length / 64)}."
    )


def test_a_batch_goes_through_little_data_once(tmp_path: Path) -> None:
    write_reversals(tmp_path / "pairs.tsv", 20)
    said = refused(seq2see("train", tmp_path / "pairs.tsv", "epochs=3"))
    assert "about 1 update of 1,024 tokens goes through this data once; write train.updates=3." in said


@pytest.mark.parametrize("words", [(), *((name,) for name in get_group(app).commands)])
def test_h_is_help_everywhere(words: tuple[str, ...]) -> None:
    short, long = seq2see(*words, "-h"), seq2see(*words, "--help")
    assert short.returncode == 0
    assert short.stdout == long.stdout
    assert short.stdout.startswith(f"Usage: {' '.join(['seq2see', *words])} ")


def test_no_word_at_all_is_help() -> None:
    assert (seq2see().returncode, seq2see().stdout) == (0, seq2see("--help").stdout)
