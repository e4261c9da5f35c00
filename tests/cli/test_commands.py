"""The commands as a user runs them: what they print, what they write, and one sentence for each mistake."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from PIL import Image
from reversal import write_reversals

from command import refused, seq2see
from seq2see.config.load import preset_names
from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError
from seq2see.models.seq2seq import Seq2Seq
from seq2see.runs.folder import RunFolder
from seq2see.tasks.transduction import Transduction
from seq2see.testing import check_score

# one held-out pair is one image
SMALL = ["model.encoder.size=16", "model.decoder.size=16", "train.batch_tokens=256", "data.held_out=0.001"]
QUICK = ["train.updates=8", "train.validate_every=4", "search.max_length=8", *SMALL]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained for a moment."""
    folder = tmp_path_factory.mktemp("shared")
    data = write_reversals(folder / "reversed.tsv", 80)
    result = seq2see("train", data, *QUICK, "--out", folder / "run")
    assert result.returncode == 0, result.stderr
    assert "decided: characters" in result.stderr
    assert "time: about" in result.stderr
    return folder / "run"


def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "seq2see", "presets"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (2, "seq2see: No space left on device.\n")


def test_training_leaves_a_whole_run_folder(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert names == {
        "attention", "attention_agreement.json", "checkpoints", "config.yaml", "held_out.jsonl", "metrics.jsonl",
        "report.html", "run.json", "source.tokenizer.json",
        "target.tokenizer.json", "tensorboard", "weights.safetensors",
    }  # fmt: skip
    assert "# characters, because" in (run / "config.yaml").read_text()
    assert (run / "attention" / "01.png").read_bytes().startswith(b"\x89PNG")


def test_predict_gives_a_line_for_every_line(run: Path, tmp_path: Path) -> None:
    lines = ["abc", "", "  ", "hgf\u2028ab", "zzz unknown ☃", "a" * 300, "d"]
    result = seq2see("predict", run, "-", stdin="\n".join(lines))
    assert result.returncode == 0, result.stderr
    outputs = result.stdout.split("\n")
    assert len(outputs) == len(lines) + 1
    assert outputs[1] == outputs[2] == ""
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")
    assert seq2see("predict", run, tmp_path / "in.txt", "-o", tmp_path / "out.txt").returncode == 0
    assert (tmp_path / "out.txt").read_text() == result.stdout


def test_what_is_read_is_not_written_over(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("abc\n")
    (tmp_path / "in.tsv").write_text("abc\tcba\n")
    (tmp_path / "link.txt").symlink_to(tmp_path / "in.txt")
    for words in (
        ["predict", run, "in.txt", "-o", "./in.txt"],
        ["predict", run, "link.txt", "-o", tmp_path / "in.txt"],
        ["predict", run, "in.txt", "-o", "out.txt", "--alignments", "in.txt"],
        ["align", run, "in.tsv", "-o", "in.tsv"],
    ):
        assert "must not replace an input" in refused(seq2see(*words, cwd=tmp_path))
    (tmp_path / "a.json").write_text("abc\n")
    assert "must not replace" in refused(seq2see("inspect", run, "@a.json", "-o", "a.json", cwd=tmp_path))
    assert [(tmp_path / f"in.{kind}").read_text() for kind in ("txt", "tsv")] == ["abc\n", "abc\tcba\n"]
    assert seq2see("inspect", run, "abc " * 100, "-o", tmp_path / "a.json").returncode == 0  # no name of a file


def test_predict_of_nothing_is_nothing(run: Path) -> None:
    result = seq2see("predict", run, "-", stdin="")
    assert (result.returncode, result.stdout) == (0, "")


def test_an_image_is_no_text(run: Path, tmp_path: Path) -> None:
    Image.new("RGB", (2, 2)).save(tmp_path / "dot.png")
    for command in ("predict", "inspect"):
        assert "dot.png: this is an image, and the run reads texts" in refused(
            seq2see(command, run, tmp_path / "dot.png")
        )
    assert "this input is none; got x.gif" in refused(seq2see("inspect", run, "abc", "-o", "x.gif"))
    assert seq2see("inspect", run, "dot.png").returncode == 0  # no file, so it is a text


def test_predict_tells_everything_in_json(run: Path) -> None:
    result = seq2see("predict", run, "--beam", 3, "--n-best", 2, "--attention", stdin="abc\n\ndef\n")
    assert result.returncode == 0, result.stderr
    first, blank, _ = (json.loads(line) for line in result.stdout.splitlines())
    assert blank["text"] == ""
    assert len(first["alternatives"]) == 1
    assert first["score"] >= first["alternatives"][0]["score"]
    (weights,) = first["attention"]["maps"][0]["weights"]
    assert len(weights) == len(first["tokens"])
    assert all(abs(sum(row) - 1) < 1e-5 and len(row) == 4 for row in weights)
    assert all(0 < token["confidence"] <= 1 for token in first["tokens"])


def test_n_best_in_text_stays_on_its_line(run: Path) -> None:
    result = seq2see("predict", run, "--n-best", 3, stdin="abc\ndef\n")
    assert [line.count("\t") for line in result.stdout.splitlines()] == [2, 2]


def test_evaluate_prints_every_metric_with_its_signature(run: Path) -> None:
    result = seq2see("evaluate", run, run.parent / "reversed.tsv", "--json")
    metrics = json.loads(result.stdout)["metrics"]
    assert metrics.keys() == {"exact_match", "cer", "chrf", "ter", "perplexity"}
    assert all(metric["signature"] for metric in metrics.values())
    table = seq2see("evaluate", run, run.parent / "reversed.tsv").stdout
    assert "exact_match" in table


@pytest.mark.parametrize("kind", ["html", "HTML", "png", "svg", "json"])
def test_inspect_writes(run: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "deep" / f"look.{kind}"
    result = seq2see("inspect", run, "abc", "-o", file)
    assert result.returncode == 0, result.stderr
    assert file.stat().st_size > 300


def test_inspect_reads_a_file_as_predict_does(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfabc\r\n")
    printed = [seq2see("inspect", run, source).stdout for source in ("abc", f"@{tmp_path / 'a.txt'}")]
    shown = [" ".join(text.split()).partition(" -> ")[2] for text in printed]  # a long name breaks the line
    assert shown[0] == shown[1] != ""


def test_inspect_draws_in_the_terminal(run: Path) -> None:
    result = seq2see("inspect", run, "abc")
    assert "attention weight" in result.stdout


def test_doctor_finds_and_names(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"one\tuno\r\none\tuno\n\tdue\n")
    (tmp_path / "b.tsv").write_text("one\tuno\n")
    result = seq2see("doctor", tmp_path / "a.tsv", "--test", tmp_path / "b.tsv")
    assert result.returncode == 0
    for words in ("line 1: Windows line ends", "line 3: the source is blank", "the same pair", "leakage: 100.0%"):
        assert words in result.stderr


def test_presets_are_listed_and_shown() -> None:
    lines = seq2see("presets").stdout.splitlines()
    assert [line.split()[0] for line in lines] == preset_names()
    start = max(map(len, preset_names())) + 2
    for line in lines:  # one column of names, one of whole sentences
        assert line[start - 2 : start] == "  "
        assert line[start] != " "
        assert line.endswith((".", ")")), line
    assert "reader:" in seq2see("presets", "luong2015").stdout
    assert "did you mean 'luong2015'" in refused(seq2see("presets", "loung2015"))


def test_parts_are_listed_with_their_options() -> None:
    everything = seq2see("parts").stdout
    for words in ("score:\n", "  scaled_dot ", "encoder:\n", "  lstmn ", "schedule:\n", "  noam "):
        assert words in everything
    window = seq2see("parts", "window", "local-p").stdout
    assert "  local-p " in window
    assert "      radius: int >= 1; default 10; keys on each side of the centre." in window
    assert "query_size" not in window, "sizes that follow from the surroundings are no options"
    assert "local-m" not in window
    cnn = seq2see("parts", "encoder", "cnn").stdout
    assert "      backbone: str | [str, ...]; default efficientnet_lite0; " in cnn
    assert "      pool: bool; default false; " in cnn
    assert "      cell: see `seq2see parts cell`; required; " in seq2see("parts", "decoder", "rnn").stdout
    assert "did you mean 'score'" in refused(seq2see("parts", "scores"))
    assert "did you mean 'additive'" in refused(seq2see("parts", "score", "aditive"))


def test_the_cache_is_measured_and_cleaned_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / "missing"))
    assert seq2see("cache").stdout == f"{tmp_path / 'missing'}: 0 files, 0.0 MB\n"
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path))
    entry = "0123456789abcdef" * 2
    for name in (
        f"{entry}/ids.npy",
        f"features/{entry}/aa/x.npy",
        "backbones/lite.weights",
        f".{entry}.abc.1.draft/x",
        "mine.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 250_000)
    (tmp_path / "features" / "mine").mkdir()
    assert seq2see("cache").stdout == f"{tmp_path}: 4 files, 1.0 MB\n"
    assert seq2see("cache", "--clean").stdout.endswith("The cache is empty now.\n")
    left = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*"))
    assert left == ["backbones", "features", "features/mine", "mine.txt"]


def test_a_shell_completes_commands() -> None:
    environment = {**os.environ, "_SEQ2SEE_COMPLETE": "complete_bash", "COMP_WORDS": "seq2see pre", "COMP_CWORD": "1"}
    program = Path(sys.executable).parent / "seq2see"
    result = subprocess.run([program], env=environment, capture_output=True, text=True)
    assert result.stdout.split() == ["predict", "presets"]


COMMANDS = [
    "quickstart",
    "train",
    "predict",
    "evaluate",
    "inspect",
    "doctor",
    "presets",
    "parts",
    "cache",
    "compare",
    "align",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    result = seq2see(command, "--help")
    assert result.returncode == 0
    assert f"seq2see {command}" in result.stdout.split("Example", 1)[1]


def test_version_names_what_a_report_needs() -> None:
    result = seq2see("--version")
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(r"seq2see \d\S+ with torch 2\.\S+ on Python 3\.\S+\n", result.stdout)


def test_training_again_says_it_is_complete(run: Path) -> None:
    result = seq2see("train", run.parent / "reversed.tsv", *QUICK, "--out", run)
    assert result.returncode == 0
    assert "complete already" in result.stderr
    alone = seq2see("train", run / "config.yaml", cwd=run.parent)
    assert "complete already" in alone.stderr, "its own configuration leads to the run itself"
    assert not (run.parent / "runs").exists()


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    data = write_reversals(tmp_path / "reversed.tsv", 80)

    def interrupt() -> None:
        while not list((tmp_path / "run" / "checkpoints").glob("*.safetensors")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    result = seq2see("train", data, *QUICK, "train.updates=100000", "--out", tmp_path / "run")
    assert result.returncode == 130, result.stderr
    assert "Run the same command again to go on" in result.stderr
    assert signal.getsignal(signal.SIGINT) is before


def test_outputs_may_be_as_long_as_any_target_of_training(tmp_path: Path) -> None:
    (tmp_path / "codes.tsv").write_text("".join(f"{a}{b}\t{(a + b) * 20}\n" for a in "abcdef" for b in "abcdef"))
    words = ["train.updates=4", "train.validate_every=4", *SMALL, "--out", tmp_path / "run"]
    assert seq2see("train", tmp_path / "codes.tsv", *words).returncode == 0
    result = seq2see("predict", tmp_path / "run", "--beam", 1, "--format", "jsonl", stdin="ab\n")
    row = json.loads(result.stdout)
    assert row["finished"] or len(row["tokens"]) == 41  # 40 letters and the end mark; not 2 * 3 + 20


def test_brackets_and_quotes_in_texts_are_only_texts(tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_text("".join(f"[/x{n}] 'q' $HOME\t[b]{n}\n" for n in range(30)))
    words = ["train.updates=2", "train.validate_every=2", *SMALL, "--out", tmp_path / "a [b] run"]
    result = seq2see("train", tmp_path / "odd.tsv", *words)
    assert result.returncode == 0, result.stderr
    assert "[/x" in result.stderr
    assert "a [b] run" in result.stderr.replace("\n", "")
    assert seq2see("evaluate", tmp_path / "a [b] run", tmp_path / "odd.tsv").returncode == 0


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    rows = "".join(f"{n},x{n},{n}y\n" for n in range(40))
    (tmp_path / "three.csv").write_text("id,from,to\n" + rows)
    (tmp_path / "two.tsv").write_text("x1\t1y\nx2\t2y\n")
    words = ["--fields", "from,to", "train.updates=2", "train.validate_every=2", *SMALL, "--out", tmp_path / "run"]
    assert seq2see("train", tmp_path / "three.csv", *words).returncode == 0
    for data in ("three.csv", "two.tsv"):
        assert seq2see("evaluate", tmp_path / "run", tmp_path / data, "--json").returncode == 0
    assert seq2see("doctor", tmp_path / "three.csv", "--fields", "from,to").returncode == 0
    assert "takes two names" in refused(seq2see("doctor", tmp_path / "three.csv", "--fields", "from"))
    for names in ("from,from", "1,1"):
        assert "two different columns" in refused(seq2see("doctor", tmp_path / "three.csv", "--fields", names))


def test_a_schedule_that_never_warms_up_is_noticed(tmp_path: Path) -> None:
    data = write_reversals(tmp_path / "reversed.tsv", 40)
    result = seq2see("train", data, *QUICK, "train.schedule=noam", "--out", tmp_path / "run")
    said = " ".join(result.stderr.split())
    assert "the schedule never reaches more than 0.2% of its highest rate; shorten its warmup" in said
    assert "the learning rate is never above" in said


def test_a_vocabulary_that_lacks_most_words_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "rare.tsv").write_text("".join(f"x{n}\tcommon rare{n}\n" for n in range(40)))
    words = ["tokens={source: characters, target: {kind: words, min_count: 5}}", "--out", tmp_path / "run"]
    result = seq2see("train", tmp_path / "rare.tsv", *QUICK, *words)
    assert "50% of all target tokens are not in the vocabulary" in " ".join(result.stderr.split())


MISTAKES = {
    "no such file": (["missing.tsv"], "missing.tsv: there is no such file"),
    "empty": (["empty.tsv"], "empty.tsv: the file is empty"),
    "one column": (["one.tsv"], "one.tsv, line 1: every line needs two columns"),
    "other lengths": (["--source", "two.txt", "--target", "three.txt"], "got 2 in"),
    "damaged UTF-8": (["damaged.tsv"], "damaged.tsv, line 2: text must be UTF-8"),
    "unknown key": (["good.tsv", "train.updats=5"], "did you mean 'updates'"),
    "unknown section": (["good.tsv", "trian.updates=5"], "did you mean 'train'"),
    "wrong type": (["wrong.yaml"], "wrong.yaml, line 4: train.updates"),
    "unknown part": (["good.tsv", "model.decoder.reader.score=addditive"], "did you mean 'additive'"),
    "unknown option": (["good.tsv", "model.encoder.sise=5"], "did you mean 'size'"),
    "unknown preset": (["good.tsv", "preset=bahdanau"], "did you mean 'bahdanau2015'"),
    "halves that do not fit": (["good.tsv", "model.decoder.initial_state=copy"], "same cell, layers and size"),
    "a size below one": (["good.tsv", "model.encoder.size=-3"], "size must be greater than or equal to 1"),
    "all too long": (["good.tsv", "data.max_tokens=2"], "longer than 2 tokens"),
    "one source": (["single.tsv"], "at least two different sources"),
    "held-out data that is missing": (["right.yaml", "--valid", "nowhere.tsv"], "nowhere.tsv: there is no such file"),
    "config and parallel files": (["right.yaml", "--source", "two.txt"], "a config names its own training data"),
    "texts for images": (["good.tsv", "preset=vit-caption"], "reads images, and the data is texts; take another"),
    "images for texts": (["images.tsv", "preset=cho2014"], "reads texts, and the data is images; take another"),
    "texts for labels": (["good.tsv", "preset=han2016"], "chooses labels, and the targets of the data are texts"),
    "a task without its parts": (
        ["good.tsv", "preset=cho2014", "task=classification"],
        "it must have no model.decoder",
    ),
    "a run for data": (["old"], "old holds a run; to go on with it, resume it"),
    "two files": (["good.tsv", "one.tsv"], "give one data file"),
    "nothing": ([], "give one data file"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_nothing(tmp_path: Path, mistake: str) -> None:
    write_reversals(tmp_path / "good.tsv", 20)
    (tmp_path / "empty.tsv").touch()
    Image.new("RGB", (2, 2)).save(tmp_path / "dot.png")
    (tmp_path / "images.tsv").write_text("image\tcaption\n" + "".join(f"dot.png\tcaption {n}\n" for n in range(9)))
    (tmp_path / "old").mkdir()
    for side in ("source", "target"):
        (tmp_path / "old" / f"{side}.tokenizer.json").touch()
    (tmp_path / "one.tsv").write_text("alone\n")
    (tmp_path / "single.tsv").write_text("a\tb\n")
    (tmp_path / "right.yaml").write_text("preset: bahdanau2015\ndata: {train: good.tsv}\n")
    (tmp_path / "two.txt").write_text("a\nb\n")
    (tmp_path / "three.txt").write_text("a\nb\nc\n")
    (tmp_path / "damaged.tsv").write_bytes("ä\tb\n".encode() + b"\xe4\tc\n")
    (tmp_path / "wrong.yaml").write_text("preset: bahdanau2015\ndata: {train: good.tsv}\ntrain:\n  updates: many\n")
    words, expected = MISTAKES[mistake]
    before = set(tmp_path.iterdir())
    sentence = refused(seq2see("train", *words, "--out", "run", cwd=tmp_path))
    assert expected in sentence
    assert set(tmp_path.iterdir()) == before


def test_another_run_in_the_folder_is_refused(run: Path, tmp_path: Path) -> None:
    before = (run / "config.yaml").read_text()
    other = write_reversals(tmp_path / "other.tsv", 20)
    sentence = refused(seq2see("train", other, *QUICK, "--out", run))
    assert "holds another run" in sentence
    assert "data.train" in sentence
    assert (run / "config.yaml").read_text() == before


def test_a_full_disk_is_one_sentence_and_the_checkpoint_before_stays(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: the write fails in its middle."""
    data = write_reversals(tmp_path / "reversed.tsv", 80)
    words = ["train", data, *QUICK, "--out", tmp_path / "run"]
    free = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, free[1]))  # room for the tokenizers, not for a checkpoint
    try:
        result = seq2see(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, free)
    assert result.returncode == 2, result.stderr
    assert "cannot be written: File too large" in result.stderr.strip().splitlines()[-1]
    assert not list((tmp_path / "run").rglob("*.draft"))
    again = seq2see(*words)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("name", ["weights.safetensors", "source.tokenizer.json", "config.yaml"])
def test_a_truncated_file_is_named(run: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2])
    assert name in refused(seq2see("predict", copy, stdin="abc\n"))


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "nowhere"],
        ["evaluate", "nowhere", "x.tsv"],
        ["inspect", "nowhere", "x"],
        ["align", "nowhere", "x.tsv"],
    ],
)
def test_a_missing_run_is_named(tmp_path: Path, words: list[str]) -> None:
    assert "nowhere: there is no such run folder" in refused(seq2see(*words, cwd=tmp_path))


def test_an_edited_model_is_refused(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    text = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(text.replace("size: 16", "size: 17", 1))
    assert "config.yaml: the file was changed or damaged" in refused(seq2see("predict", copy, stdin="abc\n"))
    RunFolder(copy).write_config(text.replace("size: 16", "size: 17", 1))
    assert "size: 16 -> 17" in refused(seq2see("predict", copy, stdin="abc\n"))


def test_weights_that_do_not_fit_are_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Transduction.build

    def build_with_another_name(task: Transduction, config: Config) -> Seq2Seq:
        model = build(task, config)
        model.register_module("renamed", model._modules.pop("encoder"))
        return model

    monkeypatch.setattr(Transduction, "build", build_with_another_name)
    assert "must fit the model" in refused(seq2see("predict", run, stdin="abc\n"))


def test_inspect_of_a_model_without_attention_says_so(tmp_path: Path) -> None:
    data = write_reversals(tmp_path / "reversed.tsv", 40)
    words = ["preset=cho2014", "train.updates=2", "train.validate_every=2", *SMALL]
    result = seq2see("train", data, *words, "--out", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    assert "no attention" in refused(seq2see("inspect", tmp_path / "run", "abc"))


def test_a_blank_token_protects_nothing_and_is_refused(tmp_path: Path) -> None:
    assert "must not be blank" in refused(seq2see("serve", tmp_path, "--token", ""))
    assert "there is no such folder" in refused(seq2see("serve", "--runs", tmp_path / "none"))


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such run folder"):
        seq2see("--debug", "predict", tmp_path / "nowhere")


SCORE = '''"""A score of our own."""

import torch
from seq2see.nn.score import Score


class Distance(Score):
    """-s |q - k|^2, with a learned s."""

    def __init__(self, *, query_size: int, key_size: int, sharpness: float = 1.0) -> None:
        super().__init__()
        self.project = torch.nn.Linear(key_size, query_size)
        self.sharpness = torch.nn.Parameter(torch.tensor(sharpness))

    def prepare(self, keys):
        return self.project(keys)

    def forward(self, query, keys):
        return -self.sharpness * torch.cdist(query, keys) ** 2
'''


def test_a_score_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_score.py").write_text(SCORE)
    data = write_reversals(tmp_path / "reversed.tsv", 40)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = [*QUICK, "model.decoder.reader.score={kind: 'own_score:Distance', sharpness: 0.5}"]
    result = seq2see("train", data, *words, "--out", tmp_path / "run", cwd=elsewhere)
    assert result.returncode == 0, result.stderr
    assert f"seq2see predict {tmp_path / 'run'} --trust\n" in result.stderr, "what is said to try must work"
    monkeypatch.delitem(sys.modules, "own_score")  # from here on as in another process,
    sys.path[:] = before
    (tmp_path / "own_score.py").rename(tmp_path / "lost.py")  # which has the copy in the run only
    sentence = refused(seq2see("predict", tmp_path / "run", stdin="abc\n", cwd=elsewhere))
    assert "own_score:Distance" in sentence
    assert "--trust" in sentence
    trusted = seq2see("predict", tmp_path / "run", "--trust", stdin="abc\n", cwd=elsewhere)
    assert trusted.returncode == 0, trusted.stderr
    check_score("own_score:Distance")


def test_a_decoder_learns_from_text_alone_and_is_taken_with_its_tokens(tmp_path: Path) -> None:
    pairs = [line.split("\t") for line in write_reversals(tmp_path / "x.tsv", 60).read_text().splitlines()]
    for name, side in (("a", 0), ("b", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    alone = [
        *(word for word in QUICK if word != "model.encoder.size=16"),
        "model.encoder={kind: none, memory_size: 32}",
    ]
    doctor = seq2see("doctor", "--source", tmp_path / "b", "--target", tmp_path / "b")
    assert (doctor.returncode, doctor.stderr) == (0, "")
    result = seq2see(
        "train", "--source", "b", "--target", "b", *alone, "tokens.target=words", "--out", "lm", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "images:" not in result.stderr
    taken = [*QUICK, "init.decoder=lm", "--out", "run"]
    result = seq2see("train", "--source", "a", "--target", "b", *taken, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "decided: tokens as in lm\n" in result.stderr
    assert "init: decoder from" in result.stderr
    config = (tmp_path / "run" / "config.yaml").read_text()
    assert f"decoder: {tmp_path / 'lm'}" in config
    assert "target: words" in config
    shutil.rmtree(tmp_path / "lm" / "checkpoints")
    (tmp_path / "lm").rename(tmp_path / "elsewhere")
    again = seq2see("train", "--source", "a", "--target", "b", *taken, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "init:" not in again.stderr
    (tmp_path / "elsewhere").rename(tmp_path / "lm")
    other = seq2see("train", "--source", "a", "--target", "b", "tokens.target=bpe", *taken[:-1], "c", cwd=tmp_path)
    assert "tokens.target=bpe: tokens.target asks for 'bpe', but the decoder of" in refused(other)


def test_a_share_that_cannot_be_is_refused_with_its_place(tmp_path: Path) -> None:
    data = write_reversals(tmp_path / "x.tsv", 40)
    sentence = refused(seq2see("train", data, *QUICK, "model.share=[embeddings]", "--out", tmp_path / "run"))
    assert sentence.startswith("seq2see: model.share=[embeddings]: sharing the embeddings needs one vocabulary")
    sentence = refused(seq2see("train", data, *QUICK, "model.share=[embedings]", "--out", tmp_path / "run"))
    assert "did you mean 'embeddings'?" in sentence
    assert not (tmp_path / "run").exists()


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    strange = b"a\xe9b".decode(errors="surrogateescape")  # as Python hears it
    for words in (["inspect", "run", strange], ["predict", "run", "--ban", strange], ["train", "x", "--out", strange]):
        assert "an argument must be UTF-8, or the name of a file; got 'a\\udce9b'" in refused(seq2see(*words))
    (tmp_path / strange).touch()
    assert "a file with both sides must" in seq2see("doctor", strange, cwd=tmp_path).stderr
