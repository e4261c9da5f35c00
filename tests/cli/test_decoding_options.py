"""How outputs are found, as the command line is told: rules, prefixes, several runs, workers."""

import itertools
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import write_reversals

from command import refused, seq2see
from seq2see.runs import parallel_prediction as workers
from seq2see.runs.parallel_prediction import choose_workers, start_workers
from seq2see.runs.run import load
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy

QUICK = ["train.updates=6", "train.validate_every=6", "train.validation_pairs=4", "train.batch_tokens=256"]
QUICK += ["model.encoder.size=12", "model.decoder.size=12", "data.held_out=0.001"]
LINES = "abc\n\nhgfed\nab\n"


@pytest.fixture(scope="session")  # a slow test of this file runs long before the others
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs that may predict together, and one of another language."""
    folder = tmp_path_factory.mktemp("runs")
    data = write_reversals(folder / "reversed.tsv", 60)
    for name, settings in {
        "one": ["preset=bahdanau2015"],
        "two": ["preset=luong2015", "model.decoder.initial_state=projected", "seed=5"],
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


def test_every_chunk_of_lines_has_its_own_prefixes(runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beginnings = ["ab", "c", "", "de", "f", "gh", "a"]
    (tmp_path / "prefixes.txt").write_text("".join(f"{prefix}\n" for prefix in beginnings))
    words = ["predict", runs / "one", "--prefix-file", tmp_path / "prefixes.txt"]
    stdin = "abc\nhgfed\nab\ncd\nfgha\neee\ndb\n"
    whole = seq2see(*words, stdin=stdin).stdout
    monkeypatch.setattr("seq2see.runs.shards.CHUNK_ROWS", 3)
    lines = seq2see(*words, stdin=stdin).stdout
    assert lines == whole
    assert all(line.startswith(prefix) for line, prefix in zip(lines.splitlines(), beginnings, strict=True))


def test_predictions_take_the_place_of_a_file_and_are_not_written_into_it(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old\n")
    with out.open() as reader:
        assert seq2see("predict", runs / "one", "-o", out, stdin=LINES).returncode == 0
        assert reader.read() == "old\n"  # whoever reads meanwhile sees one whole file
    assert out.read_text() == seq2see("predict", runs / "one", stdin=LINES).stdout


def test_penalties_reach_the_beam(runs: Path) -> None:
    def score(*words: object) -> float:
        words = ("--format", "jsonl", "--beam", 1, "--max-length", 3, *words)
        result = seq2see("predict", runs / "one", *words, stdin="abcdef\n")
        return float(json.loads(result.stdout)["score"])

    total = score("--length-penalty", 0)
    assert total < score("--length-penalty", 0.6, "--length-form", "gnmt") < score("--length-penalty", 1) < 0
    assert score("--length-penalty", 0, "--coverage-penalty", 0.5) < total
    assert score("--mbr-power", 2) == pytest.approx(1)  # the only output agrees with itself
    mbr = ("--beam", 3, "--max-length", 9, "--mbr-power", 2)
    scores = [
        score(*mbr, "--mbr-samples", count, "--mbr-precision", share) for count, share in ((0, 0.5), (9, 0.5), (9, 1))
    ]
    assert len(set(scores)) == 3


def test_samples_are_drawn_as_told(runs: Path) -> None:
    def draw(*words: object) -> str:
        return str(seq2see("predict", runs / "one", "--max-length", 9, *words, stdin="abcdef\n").stdout)

    assert draw("--seed", 3) == draw("--seed", 3, "--temperature", 1) == draw("--seed", 3, "--top-p", 1)
    assert len({draw("--seed", seed) for seed in range(4)}) > 1
    assert draw("--temperature", 1e-6) == draw("--top-k", 1) == draw("--beam", 1)


def test_options_of_minimum_bayes_risk_without_it_are_named(runs: Path) -> None:
    for option, value in (("--mbr-samples", 9), ("--mbr-precision", 0.7)):
        sentence = refused(seq2see("predict", runs / "one", option, value, stdin="abc\n"))
        name = option[2:].replace("-", "_")
        assert f"{name} must go with minimum Bayes risk decoding; got none; give mbr_power above 0" in sentence


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
    "--dictionary reversed.tsv": "dictionary goes with replace_unknown",
    "--beam 2 --temperature 1": "temperature must go with sampling; got beam of a beam as well",
    "--top-p 0": "top_p must be greater than 0; got 0.0",
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


class Bench(ProcessPoolExecutor):
    """Workers that are this process itself, one after the other."""

    def __init__(self, workers: int, context: object, begin: Callable[..., None], told: tuple[object, ...]) -> None:
        super().__init__(1)  # which starts nothing as long as nothing is submitted
        begin(*told)

    def map(self, do: Callable[..., Any], *jobs: Any, **_: Any) -> Any:
        return map(do, *jobs)


def test_what_workers_did_is_put_together_in_the_order_of_the_lines(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ProcessPoolExecutor", Bench)
    monkeypatch.setattr(workers, "serve_parent", lambda: None)
    monkeypatch.setattr(workers, "_opened", [])
    monkeypatch.setattr("os.getpid", itertools.count().__next__)  # each time another worker says who it is
    both = load([runs / "one", runs / "two"])
    texts = ["abcdefgh", "", "a", "hgfed", "ab", " ", "cdefabcd", "fgh", "bbb", "deadbeef"]
    prefixes = ["a", "b", "c", "d", "e", "f", "g", "h", "ab", "cd"]
    alone = both.predict(texts, prefix=prefixes, search=Beam(width=2))
    with start_workers(both, 2) as shared:
        assert shared is not both
        found = shared.predict(texts, prefix=prefixes, search=Beam(width=2))
    assert [each.source for each in found] == texts
    assert [each.text for each in found] == [each.text for each in alone]
    assert [each.score for each in found] == pytest.approx([each.score for each in alone])


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
