"""Documents: the hierarchical network, its ablations and flat networks beside a linear model, on the same split.

    pip install scikit-learn
    python bench/documents.py reviews.jsonl.gz --held-out 2500 --out runs/documents

The file has a text and a label on each line (as `seq2see train` reads them); its last documents are the test data.
Trains what is not trained yet (a run that was interrupted goes on), scores all on the test data and prints a Markdown
table. `faithful` is the mean Kendall tau between attention and what leaving out does to the probability, over sentences
and over words of the first test documents. `padding` is the share of positions without a word among those that are
computed at the level of words: none in the recurrent layers, some in the pools. Settings (train.updates=100) go to all
trainings.
"""

import argparse
import json
import platform
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import torch

import seq2see
from seq2see.data.batch import measure_padding, plan_batches
from seq2see.data.formats.read import read_pairs
from seq2see.data.modalities.document import DocumentModality
from seq2see.data.modalities.modality import Sources
from seq2see.data.pairs import Origin, Pairs
from seq2see.explain.document_trace import DocumentTrace
from seq2see.metrics.labels import score_labels
from seq2see.models.encoders.han_encoder import cut_groups
from seq2see.runs.run import Run

HAN = ["preset=han2016"]
ROWS = {  # named as in Yang et al. 2016, table 2, where they are there
    "HN-ATT (han2016)": HAN,
    "HN-AVE": [*HAN, "model.encoder.pool=mean", "model.pool=mean"],
    "HN-MAX": [*HAN, "model.encoder.pool=max", "model.pool=max"],
    "HN-ATT, attention to words only": [*HAN, "model.pool=mean"],
    "HN-ATT, attention to sentences only": [*HAN, "model.encoder.pool=mean"],
    "HN-ATT without word vectors": [*HAN, "init.embeddings=null"],
    "bigru-attention": ["preset=bigru-attention"],
    "transformer-classifier": ["preset=transformer-classifier"],
}
LINEAR = "linear, TF-IDF of words"
COLUMNS = ("accuracy", "macro F1", "ECE", "parameters", "minutes", "words/s", "padding", "faithful")


def main() -> None:
    """Split, train, score, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--held-out", type=int, required=True, help="documents at the end of the file to test on")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--only", action="append", help="a row of the table; may be given several times")
    parser.add_argument(
        "--attention-documents", type=int, default=40, help="test documents whose attention is compared"
    )
    parser.add_argument("settings", nargs="*", help="key=value for every training")
    arguments = parser.parse_intermixed_args()
    train, test = split(arguments.data, arguments.held_out, arguments.out)
    rows = {name: row for name, row in ROWS.items() if not arguments.only or name in arguments.only}
    commands = {
        name: make_command(name, [*row, *arguments.settings], train, test, arguments) for name, row in rows.items()
    }
    table = [] if arguments.only and LINEAR not in arguments.only else [(LINEAR, measure_linear(train, test))]
    for name, command in commands.items():
        print(f"{name}: {shlex.join(command)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", *command], check=True)
        table.append((name, measure(Path(command[-1]), test, count=arguments.attention_documents)))
    print(f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}\n")
    print(f"| run | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    print("\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in table))
    print("\n" + "\n".join(f"{name}: {shlex.join(command)}" for name, command in commands.items()))


def split(data: Path, held_out: int, out: Path) -> tuple[Path, Path]:
    """The documents before the last `held_out`, and those, as files of their own."""
    pairs, _ = read_pairs(Origin(data))
    cuts = {"train": range(len(pairs) - held_out), "test": range(len(pairs) - held_out, len(pairs))}
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in cuts.items():
        lines = [json.dumps({"text": pairs.source[row], "label": pairs.target[row]}) for row in rows]
        (out / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return out / "train.jsonl", out / "test.jsonl"


def make_command(
    name: str, settings: Sequence[str], train: Path, test: Path, arguments: argparse.Namespace
) -> list[str]:
    """The training of one row, as a person would type it."""
    folder = arguments.out / "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
    return ["seq2see", "train", str(train), *settings, "--test", str(test), "--out", str(folder)]


def measure(folder: Path, test: Path, *, count: int) -> list[str]:
    """The numbers of one run."""
    run, pairs = seq2see.load(folder), read_pairs(Origin(test))[0]
    metrics = {metric.name: metric.value for metric in run.task.score(run.predict(list(pairs.source)), pairs)}
    history = run.folder.read_metrics()
    seconds = sum(row["seconds"] for row in history)
    documents = sum(row["tokens_per_second"] * row["seconds"] for row in history)
    sources = run.task.source.prepare(pairs.source)
    words = sources.lengths.mean()
    padding = f"{100 * measure_waste(run, sources):.1f} %"
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    speed = f"{documents * words / seconds:,.0f}"
    scores = [f"{metrics[name]:.2f}" for name in ("accuracy", "macro_f1", "ece")]
    return [*scores, f"{parameters:,}", f"{seconds / 60:.0f}", speed, padding, compare_attention(run, pairs, count)]


def measure_waste(run: Run, sources: Sources) -> float:
    """The share of positions without a word: of those that a hierarchy reads and pools, or of padded batches."""
    lengths = sources.lengths
    budget = run.config.train.batch_tokens
    plan = plan_batches(lengths, np.ones_like(lengths), budget=budget, seed=1, epoch=0)
    if not isinstance(run.task.source, DocumentModality):
        return measure_padding(plan, lengths)
    words = pooled = 0
    for rows in plan:
        _, mask = sources.gather(rows.tolist())
        sentences = sorted(mask.sum(dim=2)[mask.any(dim=2)].tolist(), reverse=True)
        places = accumulate(groups := cut_groups(sentences), initial=0)
        words += sum(sentences)
        pooled += sum(count * sentences[place] for count, place in zip(groups, places, strict=False))
    return 1 - 2 * words / (words + pooled)


def compare_attention(run: Run, pairs: Pairs, count: int) -> str:
    """The mean rank agreement of attention and leaving out, over sentences and over words."""
    found: dict[str, list[float]] = {"sentence_agreement": [], "word_agreement": []}
    for prediction in run.predict(list(pairs.source[:count])):
        trace = prediction.faithfulness
        if not isinstance(trace, DocumentTrace):
            return "-"
        for name, values in found.items():
            agreement = getattr(trace, name)
            values += [agreement.kendall] if agreement is not None and agreement.kendall is not None else []
    return ", ".join(f"{statistics.mean(values):.2f}" if values else "-" for values in found.values())


def measure_linear(train: Path, test: Path) -> list[str]:
    """Logistic regression (C = 4) over sublinear TF-IDF of single words that two or more texts have (scikit-learn)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    (learn, check), began = (read_pairs(Origin(file))[0] for file in (train, test)), time.perf_counter()
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), LogisticRegression(C=4.0, max_iter=1000))
    model.fit(learn.source, learn.target)
    minutes = (time.perf_counter() - began) / 60
    sure = model.predict_proba(check.source)
    outputs = [str(model.classes_[place]) for place in sure.argmax(axis=1)]
    metrics = score_labels(outputs, list(check.target), confidences=sure.max(axis=1).tolist())
    return [*(f"{metric.value:.2f}" for metric in metrics), f"{model[-1].coef_.size:,}", f"{minutes:.1f}", "", "", "-"]


if __name__ == "__main__":
    main()
