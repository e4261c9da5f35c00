"""seq2see beside its peers, on the same data, pieces, sizes and threads, in turns; prints one table.

    python bench/peers.py --venvs VENVS --work WORK --train train.en train.de --test test.en test.de

On two quiet cores this takes about 25 minutes: every peer trains 40 updates, or 35 seconds if it is slow, and decodes
1,000 sentences, twice, in turns (A B C A B C). Parts: --only training|decoding|startup, --peer NAME, --model NAME.
The environments of the peers are made under VENVS by pip, once; WORK keeps pieces, weights and the logs of all jobs.

What is measured
- training: target tokens a second, end marks included and padding not, between the ends of updates, four updates being
  warm-up; tokens an update; seconds from the start of the process to the end of the first update; highest memory.
- decoding: sentences a second of the Transformer, loaded and warm, greedy and with a beam of 5; highest memory, that of
  workers included; how many outputs are those of seq2see. All decode with the same weights: those of --run, which must
  be a pre-norm Transformer with tied embeddings and a joint tokenizer, or of one that is trained for --prepare updates
  first. The logits of every converted model must agree with those of seq2see to 1e-4 before it is timed (CTranslate2
  has none to compare: look at its outputs). A model of few updates writes on to the limit, which only seq2see sets for
  each sentence, so then its outputs are not those of the others, and speeds say nothing. Peers take the quickest of
  three sizes of batches; seq2see has its own.
- startup: `--help`, and the import that a program needs before it can decode.

What is equal: joint BPE cut by seq2see; Transformer 4+4, size 128, inner 256, 4 heads, pre-norm, tied embeddings;
Bahdanau with GRU, 128 each way, decoder and embeddings 256, additive attention; dropout 0.3 (attention weights are not
dropped, except by JoeyNMT, which cannot do without; JoeyNMT and Eole drop inside the feed-forward layer too, and cannot
do without either); label smoothing 0.1; Adam, gradients clipped to 1. How each peer is driven is said in bench/peers/.
In brackets is how many times better seq2see is than that peer: above 1 is good for seq2see.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environment import Failure, make_environment, run, tell
from table import Table

HERE = Path(__file__).parent / "peers"
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Peer:
    """A package in an environment of its own."""

    package: str
    needs: tuple[str, ...] = ()  # for pip, with what it forgets to ask for; none: the environment this runs in
    parts: tuple[str, ...] = ("training", "decoding", "startup")
    models: tuple[str, ...] = ("transformer",)
    constrained: bool = False  # whether it can live with the versions that seq2see is tested with
    command: tuple[str, ...] | None = None  # what shows its help
    imports: str = ""
    options: dict[str, Any] = field(default_factory=dict)


BOTH = ("transformer", "bahdanau")
FILES = {
    "train_source": "train.source",
    "train_target": "train.target",
    "test": "test.source",
    "text": "test.text",
    "weights": "weights.safetensors",
    "reference": "reference.safetensors",
}
CT2 = {"needs": ("ctranslate2==4.8.4", "safetensors"), "constrained": True, "imports": "import ctranslate2"}
PEERS = {
    "seq2see": Peer(
        "seq2see",
        models=BOTH,
        command=("-m", "seq2see", "--help"),
        imports="from seq2see.runs.run import load",
        options={"workers": False},
    ),
    "seq2see-workers": Peer("seq2see", parts=("decoding",), options={"workers": True}),
    "joeynmt": Peer(
        "joeynmt",
        needs=(TORCH, "joeynmt==2.3.0", "importlib_metadata", "safetensors"),
        models=BOTH,
        command=("-m", "joeynmt", "--help"),
        imports="from joeynmt.prediction import translate",
    ),
    "eole": Peer(
        "eole",
        needs=(TORCH, "eole==0.6.4", "aiohttp"),
        models=BOTH,
        command=("eole", "--help"),
        imports="from eole.inference_engine import InferenceEnginePY",
    ),
    "transformers": Peer(
        "transformers",
        needs=(TORCH, "transformers==5.22.2"),
        constrained=True,
        command=("transformers", "--help"),
        imports="from transformers import M2M100ForConditionalGeneration",
    ),
    "ctranslate2": Peer("ctranslate2", parts=("decoding", "startup"), options={"precision": "float32"}, **CT2),
    "ctranslate2-int8": Peer("ctranslate2", parts=("decoding",), options={"precision": "int8"}, **CT2),
}


def main() -> None:
    """Prepare, measure in turns, print."""
    arguments = parse()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for outputs in arguments.work.glob("*.[15].json") if "decoding" in arguments.only else ():
        outputs.unlink()  # of an earlier time
    chosen = [name for name in PEERS if name in ["seq2see", *(arguments.peer or PEERS)]]
    table = Table(chosen)
    pythons = {name: python for name in chosen if (python := find_python(name, arguments, table))}
    facts = {}
    if arguments.only != ["startup"]:
        try:
            facts = run_driver(sys.executable, "seq2see", describe_preparation(arguments), arguments)
        except Failure as reason:
            sys.exit(f"the data cannot be prepared: {reason}")
    for part, model, name in turns(arguments, pythons):
        if not table.has_failed(name, model, part):
            try:
                table.add(name, model, part, measure(name, pythons[name], part, model, facts, arguments))
            except Failure as reason:
                table.fail(name, model, part, str(reason))
    print(describe_versions(pythons, facts, arguments))
    table.show()


def turns(arguments: argparse.Namespace, pythons: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Part, model and peer of every measurement, in the order in which they are made."""
    models = {"training": arguments.model, "decoding": arguments.model[:1], "startup": arguments.model[:1]}
    for part in arguments.only:
        for model in models[part]:
            for _ in range(arguments.rounds):
                for name in pythons:
                    if part in PEERS[name].parts and (model in PEERS[name].models or part == "startup"):
                        yield part, model, name


def parse() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--train", "--test"):
        parser.add_argument(name, nargs=2, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--venvs", type=Path, required=True, help="where the environments of the peers are kept")
    parser.add_argument("--work", type=Path, default=Path("runs/peers"), help="where everything else is kept")
    parser.add_argument(
        "--run",
        type=lambda path: str(Path(path).absolute()),
        help="a trained run of seq2see whose weights are decoded with",
    )
    parser.add_argument("--prepare", type=int, default=300, help="updates of such a run if none is given")
    parser.add_argument("--only", nargs="+", choices=("training", "decoding", "startup"))
    parser.add_argument("--peer", action="append", choices=tuple(PEERS))
    parser.add_argument("--model", action="append", choices=BOTH)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=35, help="of timed training at most, three updates at least")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--patience", type=float, default=900, help="seconds before a job is given up")
    arguments = parser.parse_args()
    arguments.only = arguments.only or ["training", "decoding", "startup"]
    arguments.model = [model for model in BOTH if model in (arguments.model or BOTH)]
    if "transformer" not in arguments.model:  # the others' recurrent models compute something else than ours
        arguments.only = [part for part in arguments.only if part != "decoding"]
    arguments.work, arguments.venvs = arguments.work.absolute(), arguments.venvs.absolute()
    return arguments


def find_python(name: str, arguments: argparse.Namespace, table: Table) -> str | None:
    """The Python of a peer; nothing if it cannot be installed."""
    peer = PEERS[name]
    if not peer.needs:
        return sys.executable
    limits = ["--constraint", str(HERE.parents[1] / "constraints.txt")] if peer.constrained else []
    try:
        return make_environment(arguments.venvs / peer.package, peer.needs, limits)
    except Failure as reason:
        table.fail(name, arguments.model[0], "pip", str(reason))
        return None


def describe_preparation(arguments: argparse.Namespace) -> dict[str, Any]:
    """The job that cuts the data and gets the weights."""
    decode = "decoding" in arguments.only
    given = {"part": "prepare", "run": arguments.run, "prepare": arguments.prepare, "decode": decode}
    return {**given, "models": arguments.model, "vocabulary": arguments.vocabulary, "work": str(arguments.work)}


def measure(
    name: str, python: str, part: str, model: str, facts: dict[str, Any], arguments: argparse.Namespace
) -> dict[str, Any]:
    """One peer, one part, one round."""
    if part == "startup":
        return measure_startup(PEERS[name], python, arguments)
    tiny = {"layers": 4, "heads": 4, "size": 128, "inner": 256, "pre_norm": True, "eps": 1e-5}
    sizes = {"vocabulary": facts["vocabulary"], **(tiny if model == "transformer" else {"size": 256})}
    work = arguments.work
    job = {
        **PEERS[name].options,
        **{key: str(work / file) for key, file in FILES.items()},
        "part": part,
        "model": model,
        "sizes": facts["sizes"] if part == "decoding" else sizes,
        "dropout": 0.3,
        "longest": facts["longest"],
        "seed": str(work / f"seed-{model}"),
        "run": facts["folder"],
        "widths": [1, 5],
        "work": str(work / name),
        "outputs": str(work),
    }
    found = run_driver(python, name, job, arguments)
    if part == "decoding":
        found |= found.pop("speeds")
        found["same"] = [compare(work, name, width) for width in (1, 5)]
    return found


def run_driver(python: str, name: str, job: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Give a job to a driver in a process of its own, and take its result."""
    folder = arguments.work / name
    folder.mkdir(exist_ok=True)
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    common = {
        "peer": name,
        "train": [str(Path(file).absolute()) for file in arguments.train],
        "valid": [str(Path(file).absolute()) for file in arguments.test],
        "budget": arguments.batch_tokens,
        "updates": arguments.updates,
        "seconds": arguments.seconds,
        "threads": arguments.threads,
        "sentences": arguments.sentences,
        "result": str(result),
    }
    tell(f"{name}: {job['part']} {job.get('model', '')}")
    (folder / "job.json").write_text(json.dumps({**common, **job, "spawned": time.monotonic()}))
    driver = HERE / f"with_{PEERS[name].package}.py"
    options = {"timeout": arguments.patience, "threads": arguments.threads, "cwd": folder}
    cache = arguments.work / "cache" / str(time.time())  # so that seq2see prepares its data every time
    run([python, str(driver), str(folder / "job.json")], **options, SEQ2SEE_CACHE=str(cache))
    if not result.is_file():
        raise Failure("it ended without a result")
    return json.loads(result.read_text())


def measure_startup(peer: Peer, python: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds of the shortest things one can do with a peer; after a first time, so that files are in memory."""
    commands = {"import": [python, "-c", peer.imports]}
    if peer.command:
        first, *rest = peer.command
        commands["help"] = [python, first, *rest] if first == "-m" else [str(Path(python).parent / first), *rest]
    seconds = {}
    for key, command in commands.items():
        run(command, timeout=arguments.patience, threads=arguments.threads)
        began = time.monotonic()
        run(command, timeout=arguments.patience, threads=arguments.threads)
        seconds[key] = time.monotonic() - began
    return seconds


def compare(work: Path, name: str, width: int) -> float:
    """The share of outputs that are those of seq2see."""
    files = [work / f"{peer}.{width}.json" for peer in (name, "seq2see")]
    if not all(file.is_file() for file in files):
        return 0.0
    theirs, ours = (json.loads(file.read_text()) for file in files)
    return sum(a == b for a, b in zip(theirs, ours, strict=True)) / len(ours)


def describe_versions(pythons: dict[str, str], facts: dict[str, Any], arguments: argparse.Namespace) -> str:
    """What was run, where, on what."""
    code = "import importlib.metadata as m, sys; print(' with torch '.join(m.version(name) for name in sys.argv[1:]))"
    versions = {}
    for name, python in pythons.items():
        packages = [PEERS[name].package, *(["torch"] if "ctranslate2" not in name else [])]
        done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True)
        versions[packages[0]] = f"{packages[0]} {done.stdout.strip()}"
    machine = f"Python {platform.python_version()}, {platform.machine()}, {arguments.threads} threads"
    counts = f"{arguments.rounds} rounds, {arguments.sentences:,} sentences decoded"
    data = f", {facts['pairs']:,} pairs, {facts['vocabulary']:,} pieces" if facts else ""
    return f"{'; '.join(versions.values())}; {machine}; {counts}{data}\n"


if __name__ == "__main__":
    main()
