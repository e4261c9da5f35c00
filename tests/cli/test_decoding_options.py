"""How outputs are found, as the command line is told: rules, prefixes, several runs, workers."""

import json
from pathlib import Path

import pytest
import torch
from reversal import write_reversals

from command import refused, seq2see
from seq2see.run import load
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.workers import choose_workers

QUICK = ["train.updates=6", "train.evaluate_every=6", "train.evaluate_pairs=4", "train.batch_tokens=256"]
QUICK += ["model.encoder.size=12", "model.decoder.size=12", "data.held_out=0.001"]
LINES = "abc\n\nhgfed\nab\n"


@pytest.fixture(scope="session")  # a slow test of this file runs long before the others
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs that may predict together, and one of another language."""
    folder = tmp_path_factory.mktemp("runs")
    data = write_reversals(folder / "reversed.tsv", 60)
    for name, settings in {
        "one": ["preset=bahdanau2015"],
        "two": ["preset=luong2015", "model.decoder.start=summary", "seed=5"],
    }.items():
        result = seq2see("train", data, *settings, *QUICK, "--out", folder / name)
        assert result.returncode == 0, result.stderr
    (folder / "numbers.tsv").write_text("".join(f"{n}\t{n + 1}\n" for n in range(40)))
    assert seq2see("train", folder / "numbers.tsv", *QUICK, "--out", folder / "numbers").returncode == 0
    return folder


def predict(runs: Path, *words: object) -> list[str]:
    result = seq2see("predict", runs / "one", *words, stdin=LINES)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.split("\n")
    assert len(lines) == 5
    assert lines[1] == lines[4] == ""
    return [lines[0], *lines[2:4]]


@pytest.mark.parametrize("beam", [1, 4])
def test_rules_are_kept(runs: Path, beam: int) -> None:
    common = ["--beam", beam, "--min-length", 4]
    assert all(len(line) >= 4 for line in predict(runs, *common))
    assert all(len(line) <= 5 for line in predict(runs, *common, "--max-length", 5))
    assert all(len(set(line)) == len(line) for line in predict(runs, *common, "--no-repeat", 1, "--max-length", 6))
    written = set("".join(predict(runs, *common)))
    banned = [word for letter in sorted(written)[:3] for word in ("--ban", letter)]
    assert not set("".join(predict(runs, *common, *banned))) & set(sorted(written)[:3])


def test_outputs_begin_as_told(runs: Path, tmp_path: Path) -> None:
    assert all(line.startswith("fa") for line in predict(runs, "--prefix", "fa"))
    (tmp_path / "prefixes.txt").write_text("ab\nx\n\nb\n".replace("x", "c"))
    first, second, third = predict(runs, "--prefix-file", tmp_path / "prefixes.txt")
    assert first.startswith("ab")
    assert third.startswith("b")
    assert second == predict(runs)[1]


def test_penalties_reach_the_beam(runs: Path) -> None:
    def score(*words: object) -> float:
        words = ("--format", "jsonl", "--beam", 1, "--max-length", 3, *words)
        result = seq2see("predict", runs / "one", *words, stdin="abcdef\n")
        return float(json.loads(result.stdout)["score"])

    total = score("--length-penalty", 0)
    assert total < score("--length-penalty", 0.6, "--length-form", "gnmt") < score("--length-penalty", 1) < 0
    assert score("--length-penalty", 0, "--coverage-penalty", 0.5) < total
    assert score("--consensus", 2) == pytest.approx(1)  # the only output agrees with itself
    beam = ("--beam", 3, "--max-length", 9, "--consensus", 2)
    heard = [score(*beam, "--witnesses", count, "--precision", share) for count, share in ((0, 0.5), (9, 0.5), (9, 1))]
    assert len(set(heard)) == 3


def test_a_vote_that_is_not_held_is_named(runs: Path) -> None:
    for option, value in (("--witnesses", 9), ("--precision", 0.7)):
        result = seq2see("predict", runs / "one", option, value, stdin="abc\n")
        assert f"{option[2:]} must go with a vote; got none; give a consensus above 0 as well." in refused(result)


def test_runs_predict_and_are_scored_together(runs: Path) -> None:
    both = ["--with", runs / "two"]
    rows = seq2see("predict", runs / "one", *both, "--attention", stdin=LINES).stdout.splitlines()
    assert json.loads(rows[0])["attention"]["maps"]
    scores = [
        json.loads(seq2see("evaluate", runs / "one", runs / "reversed.tsv", "--json", *words, "--beam", 2).stdout)
        for words in ([], both, [*both, "--no-repeat", 2, "--max-length", 3, "--replace-unknown"])
    ]
    assert len({row["metrics"]["cer"]["value"] for row in scores}) == 3


def test_unknown_words_of_a_dictionary(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("a\tx\n\nb\ty\nb\tz\n")
    words = ["--replace-unknown", "--dictionary", tmp_path / "words.tsv"]
    assert predict(runs, *words)
    (tmp_path / "words.tsv").write_text("a\tx\nb\n")
    assert "words.tsv, line 2: a line must be" in refused(seq2see("predict", runs / "one", *words, stdin=LINES))


MISTAKES = {
    "--min-length 7 --max-length 6": "min_length must be at most max_length; got 7 and 6",
    "--with numbers": "must have the same target vocabulary; one and numbers have different ones",
    "--with nowhere": "nowhere: there is no such run folder",
    "--prefix a --prefix-file reversed.tsv": "either --prefix or --prefix-file",
    "--prefix-file reversed.tsv": "got 60 for 4",
    "--prefix abcdef --max-length 3": "a prefix must fit into max_length; got 6 tokens",
    "--prefix ☃": "got '☃' in '☃'",
    "--dictionary reversed.tsv": "--dictionary goes with --replace-unknown",
    "--ban ''": "none of them blank",
    "--beam 2 --n-best 3": "n_best must be at most the width of the beam",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wish_that_cannot_be_granted_is_one_sentence(runs: Path, mistake: str) -> None:
    words = [word.strip("'") for word in mistake.split()]
    assert MISTAKES[mistake] in refused(seq2see("predict", "one", *words, stdin=LINES, cwd=runs))


def test_workers_are_hired_where_there_is_much_to_do(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, both = load(runs / "one"), load([runs / "one", runs / "two"])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert [choose_workers(one, lines, Beam(width=5)) for lines in (3_999, 4_000)] == [1, 8]
    assert [choose_workers(each, 4_000, Greedy()) for each in (one, both)] == [1, 1]
    assert choose_workers(both, 2_000, Beam(width=5)) == 8
    assert choose_workers(both, 199, Beam(width=500)) == 1


@pytest.mark.slow
def test_workers_give_what_one_process_gives(runs: Path, tmp_path: Path) -> None:
    sources = [line.split("\t")[0] * (1 + number % 9) for number, line in enumerate(runs_lines(runs))]
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in ["", *sources]))
    (tmp_path / "prefixes.txt").write_text("".join("abcdefgh"[n % 8] + "\n" for n in range(len(sources) + 1)))
    words = ["predict", runs / "one", tmp_path / "in.txt", "--with", runs / "two", "--format", "jsonl", "--n-best", 2]
    words += ["--prefix-file", tmp_path / "prefixes.txt", "--no-repeat", 3]
    alone, shared = seq2see(*words), seq2see(*words, "--workers", 2)
    assert shared.returncode == 0, shared.stderr
    assert shared.stdout == alone.stdout
    sentence = refused(seq2see("predict", runs / "one", "--prefix", "☃", "--workers", 2, stdin="abc\n"))
    assert "got '☃'" in sentence


def runs_lines(runs: Path) -> list[str]:
    return (runs / "reversed.tsv").read_text().splitlines()
