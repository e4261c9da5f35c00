"""The ways by which a run folder is opened, for `bench/hostile_runs.py`: the Python call, and every command with a run.

Each takes the malicious folder. Beside it lie `honest`, a link to an undamaged run of its kind, and the data that
`write_data` wrote there.
"""

import asyncio
import base64
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2

import seq2see
from seq2see.cli.app import main as run_command
from seq2see.cli.serve import load_registry
from seq2see.core.errors import Seq2SeeError
from seq2see.serve.application import make_app

INPUT = ["a t", "b b b", "c u", "d v"]
LABELS = ["yes", "no", "yes", "no"]
OUTPUTS = {"labels": LABELS, "documents": LABELS}
IMAGES = ("cnn", "vit")
Door = Callable[[Path], object]


def write_data(place: Path, base: str, image: Path) -> None:
    """Write inputs and pairs for runs of a kind.

    Args:
        place: the folder that gets `input.txt` and `pairs.jsonl`.
        base: the kind of run.
        image: an image, the input of runs that read images.
    """
    sources = [str(image.with_stem(str(number))) for number in range(4)] if base in IMAGES else INPUT
    rows = zip(sources, OUTPUTS.get(base, ["t a", "b b b", "u c", "v d"]), strict=True)
    names = ("image", "caption") if base in IMAGES else ("source", "target")
    (place / "pairs.jsonl").write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    (place / "input.txt").write_text("".join(f"{source}\n" for source in sources))


def give(*words: object) -> None:
    """Run a command line."""
    sys.argv = ["seq2see", *map(str, words)]
    run_command()


def call(folder: Path) -> None:
    """Load and predict as a Python program does, and show the result and errors as a command would."""
    sources = (folder.parent / "input.txt").read_text().splitlines()
    try:
        run = seq2see.load(folder)
        repr(run)
        for prediction in run.predict(sources):
            print(prediction.text.encode()[:1000], repr(prediction).encode()[:1000])
    except Seq2SeeError as error:
        print(f"seq2see: {error}", file=sys.stderr)
        sys.exit(2)


def predict(folder: Path) -> None:
    """Run `seq2see predict`."""
    give("predict", folder, folder.parent / "input.txt")


def evaluate(folder: Path) -> None:
    """Run `seq2see evaluate`, which also measures the agreement of attention and occlusion and writes it."""
    give("evaluate", folder, folder.parent / "pairs.jsonl", "--agreement")


def inspect(folder: Path) -> None:
    """Run `seq2see inspect`, which writes a page."""
    source = (folder.parent / "input.txt").read_text().splitlines()[0]
    give("inspect", folder, source, "--leave-one-out", "-o", folder.parent / "page.html")


def inspect_in_terminal(folder: Path) -> None:
    """Run `seq2see inspect`, which prints the attention."""
    give("inspect", folder, (folder.parent / "input.txt").read_text().splitlines()[0])


def compare(folder: Path) -> None:
    """Run `seq2see compare` with an honest run."""
    place = folder.parent
    give("compare", place / "honest", folder, "--data", place / "pairs.jsonl", "-o", place / "compare.html")


def ensemble(folder: Path) -> None:
    """Run `seq2see predict --with`: the run is one of two that predict together."""
    give("predict", folder.parent / "honest", folder.parent / "input.txt", "--with", folder)


def align(folder: Path) -> None:
    """Run `seq2see align`."""
    give("align", folder, folder.parent / "pairs.jsonl")


def resume(folder: Path) -> None:
    """Run `seq2see resume` for more updates."""
    give("resume", folder, "--updates", 3)


def resume_unchanged(folder: Path) -> None:
    """Run `seq2see resume`."""
    give("resume", folder)


def fine_tune(folder: Path) -> None:
    """Run `seq2see train --init`."""
    place = folder.parent
    words = ("train.updates=2", "train.workers=1", "train.validate_every=2")
    give("train", place / "pairs.jsonl", "--init", folder, "--out", place / "tuned", *words)


def start_from_encoder(folder: Path) -> None:
    """Run `seq2see train` with the encoder of the run in a new model."""
    place = folder.parent
    words = ("train.updates=2", "train.workers=1", "train.validate_every=2", f"init.encoder={folder}")
    give("train", place / "pairs.jsonl", "--out", place / "started", *words)


def save(folder: Path) -> None:
    """Copy the run from Python."""
    try:
        seq2see.load(folder).save(folder.parent / "saved")
    except Seq2SeeError as error:
        print(f"seq2see: {error}", file=sys.stderr)
        sys.exit(2)


def serve(folder: Path) -> None:
    """Serve the run beside an honest one, and ask both for what a page asks for."""
    registry = load_registry([folder.parent / "honest", folder], None, trust=False, sandbox=False, seconds=60)
    app, handler = make_app(registry)
    handler.batcher.start()
    source = (folder.parent / "input.txt").read_text().splitlines()[0]

    async def talk() -> None:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            for model in (await client.get("/v1/models")).json()["models"]:
                body = {"model": model["name"], **read_source(Path(source))}
                answers = [await client.post(f"/v1/{name}", json=body) for name in ("predict", "explain")]
                answers.append(await client.get("/v1/held-out", params={"model": model["name"]}))
                for answer in answers:
                    if answer.status_code == 500:
                        raise RuntimeError(answer.text[:300])
                    print(model["name"].encode()[:100], answer.status_code, len(answer.content))

    asyncio.run(talk())


def read_source(source: Path) -> dict[str, str]:
    """Return a source as the body of a request has it."""
    if source.is_file():
        return {"image": base64.b64encode(source.read_bytes()).decode()}
    return {"text": str(source)}


def sandbox(folder: Path) -> None:
    """Run `seq2see predict --sandbox`."""
    give("predict", folder, folder.parent / "input.txt", "--sandbox")


DOORS: Mapping[str, Door] = {
    door.__name__: door
    for door in (
        call,
        predict,
        evaluate,
        inspect,
        inspect_in_terminal,
        compare,
        ensemble,
        align,
        resume,
        resume_unchanged,
        fine_tune,
        start_from_encoder,
        save,
        serve,
    )
}
