"""Comparing and aligning as a user does it: what is printed and written, and one sentence for each mistake."""

import json
import re
from pathlib import Path

import pytest

from command import refused, seq2see

QUICK = ["train.updates=4", "train.validate_every=4", "train.validation_pairs=4", "train.batch_tokens=512"]
QUICK += ["model.encoder.size=8", "model.decoder.size=8", "data.held_out=0.001"]
WORDS = ["cab", "bad", "dab", "ace", "fee"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, one of them without attention, and pairs of two to four words."""
    folder = tmp_path_factory.mktemp("compared")
    sources = [f"{a} {b} {c} {a}"[: 7 if a > b else 15] for a in WORDS for b in WORDS for c in WORDS[:2]]
    pairs = [(source, " ".join(reversed(source.split()))) for source in dict.fromkeys(sources)]
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    (folder / "test.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs[:12]))
    (folder / "gold.txt").write_text("".join(f"0-{len(s.split()) - 1} 1?0\n" for s, _ in pairs[:12]))
    for preset in ("bahdanau2015", "cho2014"):
        result = seq2see("train", "pairs.tsv", f"preset={preset}", *QUICK, "--out", preset, cwd=folder)
        assert result.returncode == 0, result.stderr
    return folder


def test_a_report_says_what_its_attention_is_like(place: Path) -> None:
    assert "of uniform" in (place / "bahdanau2015" / "report.html").read_text()
    assert "of uniform" not in (place / "cho2014" / "report.html").read_text()


def test_runs_are_compared(place: Path) -> None:
    words = ["compare", "bahdanau2015", "cho2014", "--data", "test.tsv", "--beam", 1]
    result = seq2see(*words, "-o", "compare.html", "--plot", "lengths.svg", cwd=place)
    assert result.returncode == 0, result.stderr
    for word in ("exact match", "BLEU", "chrF", "TER", "speed", "parameters", "attention entropy", "sentences"):
        assert word in result.stdout
    assert "AER" not in result.stdout
    assert "seed:12345" in result.stdout
    page = (place / "compare.html").read_text()
    assert 'drawSection("Attention"' in page
    assert '"maps": [{"name": "decoder.reader.attend"' in page
    assert (place / "lengths.svg").read_text().startswith("<?xml")


def test_texts_of_a_few_words_are_compared_without_bleu(place: Path) -> None:
    short = [line for line in (place / "pairs.tsv").read_text().splitlines(keepends=True) if len(line.split()) == 4]
    (place / "short.tsv").write_text("".join(short[:12]))
    words = ["compare", "bahdanau2015", "cho2014", "--data", "short.tsv", "--beam", 1, "--plot", "short.svg"]
    for more in ([], ["--by", "bleu"]):
        result = seq2see(*words, *more, cwd=place)
        assert result.returncode == 0, result.stderr
        assert "exact match, % by source length" in result.stdout
        assert "BLEU: none: no reference has four tokens" in result.stdout
        assert result.stdout.count("BLEU") == 1
    found = json.loads(seq2see(*words, "--json", cwd=place).stdout)
    assert found["lengths"]["scores"].keys() == {"chrf", "exact_match"}
    assert found["runs"][0]["metrics"].keys() == {"exact_match", "chrf", "ter"}


def test_a_comparison_in_json_is_complete(place: Path) -> None:
    words = ["compare", "bahdanau2015", "cho2014", "--data", "test.tsv", "--beam", 1, "--gold", "gold.txt", "--json"]
    result = seq2see(*words, cwd=place)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    with_attention, without = found["runs"]
    assert found["pairs"] == 12
    assert sum(bucket["count"] for bucket in found["lengths"]["buckets"]) == 12
    assert found["lengths"]["scores"].keys() == {"bleu", "chrf", "exact_match"}
    assert with_attention["metrics"].keys() == {"exact_match", "bleu", "chrf", "ter"}
    assert with_attention["metrics"]["bleu"]["p_value"] is None
    assert 0 < without["metrics"]["bleu"]["p_value"] <= 1
    assert without["attention"] is without["alignment"] is None
    assert 0 < with_attention["attention"]["normalised_entropy"] <= 1
    assert 0 <= with_attention["alignment"]["maps"]["decoder.reader.attend"]["aer"] <= 100
    for run in found["runs"]:
        assert min(run["sentences_per_second"], run["parameters"], run["megabytes"], run["training_minutes"]) > 0


def test_what_a_run_does_not_have_is_a_dash(place: Path) -> None:
    words = ["compare", "cho2014", "bahdanau2015", "--data", "test.tsv", "--beam", 1, "--gold", "gold.txt"]
    (line,) = (line for line in seq2see(*words, cwd=place).stdout.splitlines() if "AER," in line)
    _, dash, named = re.split(" {2,}", line)
    assert dash == "–"
    assert "decoder.reader" in named


def test_links_are_printed_or_written(place: Path) -> None:
    result = seq2see("align", "bahdanau2015", "test.tsv", cwd=place)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    pairs = [line.split("\t") for line in (place / "test.tsv").read_text().splitlines()]
    assert len(lines) == len(pairs)
    for line, (source, target) in zip(lines, pairs, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert sorted(right for _, right in links) == list(range(len(target.split())))
        assert all(left < len(source.split()) for left, _ in links)
    assert "linked by decoder.reader.attend (the default); source counted in words" in result.stderr
    assert seq2see("align", "bahdanau2015", "test.tsv", "-o", "out.pharaoh", cwd=place).stdout == ""
    assert (place / "out.pharaoh").read_text() == result.stdout


def test_links_are_scored_against_gold(place: Path) -> None:
    seq2see("align", "bahdanau2015", "test.tsv", "-o", "own.pharaoh", cwd=place)
    result = seq2see("align", "bahdanau2015", "test.tsv", "--gold", "own.pharaoh", cwd=place)
    (line,) = (line for line in result.stdout.splitlines() if "decoder.reader.attend" in line)
    assert re.split(" {2,}", line)[1:4] == ["0.00", "100.00", "100.00"]
    assert "the best by AER" in result.stderr


def test_a_threshold_leaves_weak_links_out(place: Path) -> None:
    words = ["align", "bahdanau2015", "test.tsv", "--threshold", 1, "--map", "decoder.reader.attend"]
    result = seq2see(*words, cwd=place)
    assert result.stdout.split() == []
    assert "(as asked)" in result.stderr


def test_a_blank_line_of_parallel_files_keeps_its_place(place: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("cab bad\n\nbad cab\n")
    (tmp_path / "b").write_text("bad cab\nface\ncab bad\n")
    (tmp_path / "gold").write_text("0-1\n0-0\n1-0\n")
    words = ["align", place / "bahdanau2015", "--source", tmp_path / "a", "--target", tmp_path / "b"]
    lines = seq2see(*words).stdout.split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    assert lines[0]
    assert lines[2]
    assert "n:2|" in seq2see(*words, "--gold", tmp_path / "gold").stdout


def test_predictions_come_with_their_alignments(place: Path, tmp_path: Path) -> None:
    words = ["predict", place / "bahdanau2015", "--beam", 1, "--alignments", tmp_path / "links"]
    result = seq2see(*words, stdin="cab bad ace\n\nace\n")
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "links").read_text().split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    assert seq2see(*words, stdin="").returncode == 0
    assert (tmp_path / "links").read_text() == ""
    without = seq2see("predict", place / "cho2014", "--alignments", tmp_path / "links", stdin="cab\n")
    assert "no attention" in refused(without)
    assert without.stdout == ""


def test_bleu_is_cut_as_asked(place: Path) -> None:
    result = seq2see("evaluate", "bahdanau2015", "test.tsv", "--bleu-tokenizer", "char", "--json", cwd=place)
    assert "tok:char" in json.loads(result.stdout)["metrics"]["bleu"]["signature"]
    sentence = refused(seq2see("evaluate", "bahdanau2015", "test.tsv", "--bleu-tokenizer", "chr", cwd=place))
    assert "did you mean 'char'" in sentence


BOTH = ["compare", "bahdanau2015", "cho2014"]
MISTAKES = {
    "one run": (["compare", "cho2014", "--data", "test.tsv"], "at least two run folders; got 1"),
    "the same run": (["compare", "cho2014", "./cho2014", "--data", "test.tsv"], "given twice"),
    "no such run": (["compare", "cho2014", "nowhere", "--data", "test.tsv"], "nowhere: there is no such run folder"),
    "no data": (BOTH, "give one data file, or both --source"),
    "no such data": ([*BOTH, "--data", "missing.tsv"], "missing.tsv: there is no such file"),
    "no page": ([*BOTH, "--data", "test.tsv", "-o", "x.pdf"], "must end in .html; got x.pdf"),
    "no figure": ([*BOTH, "--data", "test.tsv", "--plot", "x.pdf"], "must end in .png or .svg; got x.pdf"),
    "no tokenizer": ([*BOTH, "--data", "test.tsv", "--bleu-tokenizer", "x"], "no BLEU tokenizer named 'x'"),
    "short gold": ([*BOTH, "--data", "test.tsv", "--gold", "short.txt"], "short.txt: gold must have a line for each"),
    "gold from 1": ([*BOTH, "--data", "test.tsv", "--gold", "one.txt"], "one.txt, line 1: the pair has"),
    "no gold": (["align", "bahdanau2015", "test.tsv", "--gold", "missing"], "missing: there is no such file"),
    "odd gold": (["align", "bahdanau2015", "test.tsv", "--gold", "odd.txt"], "odd.txt, line 2: links must be written"),
    "no map": (["align", "bahdanau2015", "test.tsv", "--map", "decoder.attend"], "no attention map named"),
    "no head": (["align", "bahdanau2015", "test.tsv", "--head", 2], "has the heads 1 to 1; got 2"),
    "no attention": (["align", "cho2014", "test.tsv"], "no attention to show"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(place: Path, mistake: str) -> None:
    (place / "short.txt").write_text("0-0\n")
    (place / "one.txt").write_text("1-1 2-2 3-3 4-4\n" * 12)
    (place / "odd.txt").write_text("0-0\n0=0\n" * 6)
    words, expected = MISTAKES[mistake]
    assert expected in refused(seq2see(*words, cwd=place))


@pytest.fixture(scope="module")
def choosers(place: Path) -> Path:
    """Two runs that choose labels, one that chooses several, and pairs that end in an empty text."""
    rows = [(f"{a} {b} {c}", "yes" if a > b else "no") for a in WORDS for b in WORDS for c in WORDS]
    (place / "labels.tsv").write_text("".join(f"{source}\t{label}\n" for source, label in rows))
    (place / "several.tsv").write_text("".join(f"{source}\t{label}|{source[:3]}\n" for source, label in rows))
    quick = ["task=classification", "train.updates=2", "train.validate_every=2", "model.encoder.size=4"]
    quick += ["tokens.source.min_count=1"]
    for name, data, more in (
        ("chooser", "labels.tsv", []),
        ("other", "labels.tsv", ["seed=2", "train.updates=40", "train.learning_rate=0.02"]),
        ("several", "several.tsv", ['tokens.target={kind: labels, separator: "|"}']),
    ):
        result = seq2see("train", data, *quick, *more, "--out", name, cwd=place)
        assert result.returncode == 0, result.stderr
    return place


def test_runs_that_choose_labels_are_compared(choosers: Path) -> None:
    words = ["compare", "chooser", "other", "--data", "labels.tsv"]
    result = seq2see(*words, "-o", "labels.html", "--plot", "labels.svg", cwd=choosers)
    assert result.returncode == 0, result.stderr
    for word in (
        "accuracy",
        "macro-F1",
        "right alone",
        "accuracy, % by source length",
        "chooser and other on 125 texts",
    ):
        assert word in result.stdout
    for word in ("entropy", "BLEU", "sentences"):
        assert word not in result.stdout
    assert "of accuracy McNemar's exact test, of F1 a paired bootstrap" in result.stdout
    assert "each run against chooser" in result.stdout
    assert '"counted": "texts"' in (choosers / "labels.html").read_text()
    first, other = json.loads(seq2see(*words, "--json", cwd=choosers).stdout)["runs"]
    assert first["metrics"].keys() == {"accuracy", "macro_f1"}
    assert "mcnemar" not in first["metrics"]["accuracy"]
    tested = other["metrics"]["accuracy"]["mcnemar"]
    difference = other["metrics"]["accuracy"]["value"] - first["metrics"]["accuracy"]["value"]
    assert 100 * (tested["c"] - tested["b"]) / 125 == pytest.approx(difference)
    assert other["metrics"]["accuracy"]["p_value"] == tested["p_value"]
    own = json.loads(seq2see("evaluate", "other", "labels.tsv", "--json", cwd=choosers).stdout)
    assert own["metrics"]["macro_f1"]["value"] == pytest.approx(other["metrics"]["macro_f1"]["value"])
    assert sum(map(sum, own["confusion"]["counts"])) == 125
    assert "right ↓, taken for →" in seq2see("evaluate", "other", "labels.tsv", cwd=choosers).stdout


def test_runs_of_two_kinds_are_not_compared(choosers: Path) -> None:
    sentence = refused(seq2see("compare", "cho2014", "chooser", "--data", "test.tsv", cwd=choosers))
    assert "chooser chooses labels and cho2014 writes texts; compare runs of one kind." in sentence
    sentence = refused(seq2see("compare", "chooser", "several", "--data", "labels.tsv", cwd=choosers))
    assert "several chooses several labels of a source and chooser chooses one; compare runs of one kind." in sentence
    words = ["compare", "chooser", "other", "--data", "labels.tsv", "--gold", "gold.txt"]
    assert "these runs choose labels; leave it out" in refused(seq2see(*words, cwd=choosers))
