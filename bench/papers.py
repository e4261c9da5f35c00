"""The tables and the figure of docs/papers/translation.md, each by one command:

    python bench/papers.py models --source DIR/{train,val,test}.en --target DIR/{train,val,test}.de --out runs/papers
    python bench/papers.py scores --source DIR/{train,val,test}.en --target DIR/{train,val,test}.de --out runs/scores

Trains what is not trained yet (a run that was interrupted goes on), compares all runs, if there are several, on the
test files with beam 5, prints a Markdown table with the command of each row, and leaves the page of the comparison and
the figure of BLEU against sentence length beside the runs. Settings (train.updates=100) go to every training.
"""

import argparse
import json
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import seq2see

READER = "model.decoder.reader"
MODELS = {
    preset: [f"preset={preset}"]
    for preset in (
        "sutskever2014",
        "cho2014",
        "bahdanau2015",
        "luong2015",
        "luong2015-local",
        "gnmt2016-small",
        "convs2s2017",
        "transformer-tiny",
    )
}
SCORES = {
    **{
        f"global {score}": ["preset=bahdanau2015", f"{READER}.score={score}"]
        for score in ("dot", "scaled_dot", "general", "additive", "location", "cosine")
    },
    **{
        f"local-{kind[0]} general": ["preset=bahdanau2015", f"{READER}.score=general", f"{READER}.window={kind}"]
        for kind in ("local-m", "local-p")
    },
}
# early in training; two directions of 64 are as wide as the decoder, which the dot score needs
SHORT = ["model.encoder.size=64", "model.decoder.size=128", "train.updates=800"]
TABLES = {"models": (MODELS, []), "scores": (SCORES, SHORT)}


def main() -> None:
    """Train, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--source", nargs=3, required=True, metavar=("TRAIN", "VALID", "TEST"))
    parser.add_argument("--target", nargs=3, required=True, metavar=("TRAIN", "VALID", "TEST"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--only", action="append", help="a row of the table; may be given several times")
    parser.add_argument("--bleu-tokenizer", default="none", help="none for files that are tokenised already")
    parser.add_argument("settings", nargs="*", help="key=value for every training")
    arguments = parser.parse_intermixed_args()
    rows, settings = TABLES[arguments.table]
    commands = {
        name: make_command(arguments, [*row, *settings, *arguments.settings], arguments.out / name.replace(" ", "-"))
        for name, row in rows.items()
        if not arguments.only or name in arguments.only
    }
    for name, command in commands.items():
        print(f"{name}: {shlex.join(command)}", file=sys.stderr)
        run([sys.executable, "-m", *command])
    if len(commands) > 1:
        compare(arguments, commands)


def make_command(arguments: argparse.Namespace, settings: list[str], out: Path) -> list[str]:
    """The training of one row, as a person would type it."""
    sides = zip(arguments.source[1:], arguments.target[1:], strict=True)
    held_out = [json.dumps({"source": source, "target": target}) for source, target in sides]
    data = [f"data.{name}={files}" for name, files in zip(("valid", "test"), held_out, strict=True)]
    files = ["--source", arguments.source[0], "--target", arguments.target[0]]
    return ["seq2see", "train", *files, *settings, *data, "--out", str(out)]


def compare(arguments: argparse.Namespace, commands: dict[str, list[str]]) -> None:
    """Decode and score all runs together, print the table, and leave the page and the figure beside the runs."""
    folders = [command[-1] for command in commands.values()]
    files = ["--source", arguments.source[2], "--target", arguments.target[2], "--beam", "5"]
    page, figure = (str(arguments.out / f"{arguments.table}.{kind}") for kind in ("html", "svg"))
    outputs = ["--bleu-tokenizer", arguments.bleu_tokenizer, "-o", page, "--plot", figure, "--json"]
    found = json.loads(run([sys.executable, "-m", "seq2see", "compare", *folders, *files, *outputs]))
    print(f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}\n")
    names = ["BLEU", "chrF", "parameters", "minutes of training", "tokens/s", "sentences/s", "entropy (bits)"]
    print(f"| run | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for name, each in zip(commands, found["runs"], strict=True):
        print(f"| {name} | {' | '.join(list_cells(each, arguments.out / name.replace(' ', '-')))} |")
    print("\n" + "\n".join(f"{name}: {shlex.join(command)}" for name, command in commands.items()))
    print("\n" + "\n".join(sorted({metric["signature"] for metric in found["runs"][0]["metrics"].values()})))


def list_cells(each: dict[str, Any], folder: Path) -> list[str]:
    """The numbers of one run."""
    validations = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    speed = sum(each["tokens_per_second"] * each["seconds"] for each in validations) / sum(
        each["seconds"] for each in validations
    )
    attention = each["attention"]
    return [
        f"{each['metrics']['bleu']['value']:.2f}",
        f"{each['metrics']['chrf']['value']:.2f}",
        f"{each['parameters']:,}",
        f"{each['training_minutes']:.0f}",
        f"{speed:,.0f}",
        f"{each['sentences_per_second']:.0f}",
        f"{attention['entropy']:.2f}" if attention else "-",
    ]


def run(command: list[str]) -> str:
    """What a command prints, while it shows its own progress."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"this command failed: {shlex.join(command)}")
    return done.stdout


if __name__ == "__main__":
    main()
