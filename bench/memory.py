"""Machines with a memory beside an LSTM, on exercises that need one: python bench/memory.py --out runs/memory

Writes the exercises of `seq2see quickstart --task`, trains a Neural Turing Machine and an LSTM with a state of the same
size on each (what is trained already is not trained again), and prints a Markdown table: wrong symbols, in per cent, at
the lengths that were learned from and at twice the greatest of them. Settings (train.updates=100) go to every training.
"""

import argparse
import json
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import torch

import seq2see
from seq2see.cli.quickstart import EXERCISE_SIZES, PATIENT, read_span, write_splits
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Origin
from seq2see.data.synthetic.exercises import EXERCISES, make_exercises
from seq2see.runs.evaluation import count_parameters, measure_word_error_rate

LSTM = "{kind: rnn, cell: lstm, embedding_size: 16, size: 64, layers: 1"
MODELS = {
    "ntm": [],
    "lstm": [
        f"model.encoder={LSTM}, directions: forward}}",
        f"model.decoder={LSTM}, reader: none, initial_state: copy}}",
    ],
}


def main() -> None:
    """Write, train, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the data and the runs")
    parser.add_argument("--task", action="append", choices=EXERCISES, help="may be given several times; else all")
    parser.add_argument("--model", action="append", choices=MODELS, help="may be given several times; else all")
    parser.add_argument("--lengths", help="such as 1..20, for every task")
    parser.add_argument("settings", nargs="*", help="key=value for every training")
    arguments = parser.parse_intermixed_args()
    tasks, models = arguments.task or list(EXERCISES), arguments.model or list(MODELS)
    rows, commands = [], {}
    for task in tasks:
        splits = make_exercises(task, lengths=read_span(arguments.lengths), seed=1, **EXERCISE_SIZES)
        files = write_splits(splits, arguments.out / "exercises" / task)
        for model in models:
            patient = [f"train.{name}={value}" for name, value in PATIENT.items()] if task == "recall" else []
            settings = [*MODELS[model], *patient, *arguments.settings]
            command = make_command(files, settings, arguments.out / f"{task}-{model}")
            commands[f"{task}, {model}"] = command
            train(command)
            rows.append([task, model, *score(Path(command[-1]), files)])
    print(f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}\n")
    names = ["task", "model", "parameters", "minutes of training", "wrong symbols", "at twice the length"]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    print("\n" + "\n".join(f"{name}: {shlex.join(command)}" for name, command in commands.items()))


def make_command(files: dict[str, Path], settings: list[str], out: Path) -> list[str]:
    """A training, as a person would type it."""
    held_out = ["--valid", str(files["valid"]), "--test", str(files["test"])]
    return ["seq2see", "train", str(files["train"]), "preset=ntm2014", *settings, *held_out, "--out", str(out)]


def train(command: list[str]) -> None:
    """Train while it shows its own progress; a run that is complete is left as it is."""
    print(shlex.join(command), file=sys.stderr)
    if subprocess.run([sys.executable, "-m", *command], stdout=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit(f"this command failed: {shlex.join(command)}")


def score(folder: Path, files: dict[str, Path]) -> list[str]:
    """The cells of one run."""
    run = seq2see.load(folder)
    validations = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    wrong = [measure_word_error_rate(run, read_pairs(Origin(files[name]))[0]).value for name in ("test", "longer")]
    minutes = sum(each["seconds"] for each in validations) / 60
    return [f"{count_parameters(run):,}", f"{minutes:.1f}", *(f"{value:.2f}" for value in wrong)]


if __name__ == "__main__":
    main()
