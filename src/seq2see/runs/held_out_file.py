"""The file of a run folder with its outputs for held-out data: what pages show as examples and as a table."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os.path import commonpath, dirname, relpath
from typing import TYPE_CHECKING, Any

from seq2see.core.errors import CheckpointError, DataError
from seq2see.core.json_text import read_json
from seq2see.data.sentence_splitter import show_sentences
from seq2see.explain.image_grid import encode_image, show_pixels
from seq2see.runs.agreement_file import read_weights_digest
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.run_file import read_run_file
from seq2see.system.files import write_atomic

if TYPE_CHECKING:
    from seq2see.runs.folder import RunFolder
    from seq2see.runs.run import Run

FILE_NAME = "held_out.jsonl"
MAX_LINES = 2_000
MAX_CHARACTERS = 1_000_000  # of all lines
MAX_IMAGE_CHARACTERS = 1_500_000  # of all images, in base64
MAX_BYTES = 16_000_000  # of the file


@dataclass(frozen=True)
class HeldOutLine:
    """One input that the run was not trained on, and what the run makes of it.

    Args:
        number: the number of the input in its data, from 1.
        source: the text of the input, or the name of an image in its folder.
        output: the output of the run.
        references: the correct outputs.
        confidence: the probability of a label, or the geometric mean of those of a text's tokens; None if blank.
        correct: whether the output is one of the references; None where that means little, as for several captions.
        image: the pixels that the model reads, as a data URL; None for a text, and for images that did not fit.
    """

    number: int
    source: str
    output: str
    references: tuple[str, ...]
    confidence: float | None
    correct: bool | None
    image: str | None = None


@dataclass(frozen=True)
class HeldOut:
    """Outputs of a run for held-out data: all of them, or as many as fit, at equal distances.

    Args:
        data: the name of the data, such as `test data`.
        count: the number of inputs of the data.
        lines: the lines that were kept, in the order of the data.
    """

    data: str = ""
    count: int = 0
    lines: tuple[HeldOutLine, ...] = ()


NOTHING = HeldOut()


def collect_held_out(run: "Run", result: Evaluation) -> HeldOut:
    """Return the outputs of an evaluation as lines, as many as fit at equal distances.

    Args:
        run: the run, which reads images as its model needs them.
        result: its evaluation on data that it was not trained on.
    """
    total = len(result.predictions)
    sizes = [
        len(each.source) + len(each.text) + len(result.references[row]) for row, each in enumerate(result.predictions)
    ]
    count = min(total, MAX_LINES)
    while count and (taken := sum(sizes[row] for row in _spread(total, count))) > MAX_CHARACTERS:
        count = min(count - 1, count * MAX_CHARACTERS // taken)
    rows = _spread(total, count)
    images = run.task.source.tokenizer is None  # an image has no tokens
    pixels = _encode_images(run, [result.predictions[row].source for row in rows]) if images else {}
    names = _name_images([each.source for each in result.predictions]) if images else None
    return HeldOut(result.name, total, tuple(_make_line(result, row, names, pixels) for row in rows))


def write_held_out(folder: "RunFolder", held_out: HeldOut) -> None:
    """Write the lines into the run folder, with the digest of the weights that made them and one of the content.

    Args:
        folder: the run folder, with its weights.
        held_out: the outputs of these weights.
    """
    lines = [json.dumps(asdict(line), ensure_ascii=False) for line in held_out.lines]
    known = {"data": held_out.data, "count": held_out.count, "weights": read_weights_digest(folder)}
    head = json.dumps({**known, "digest": _digest(known, lines)}, ensure_ascii=False)
    text = "".join(f"{line}\n" for line in [head, *lines])
    write_atomic(folder.path / FILE_NAME, text.encode(errors="surrogatepass"))


def read_held_out(folder: "RunFolder") -> HeldOut:
    """Read the lines of a run; nothing if it has none, or if they are of other weights.

    Args:
        folder: the run folder, with its weights.

    Raises:
        CheckpointError: the file was changed or damaged.
    """
    file = folder.path / FILE_NAME
    try:
        content = read_run_file(file, most=MAX_BYTES).decode(errors="surrogatepass")
        first, *lines = content.removesuffix("\n").split("\n")
        head = read_json(first)
        if head.pop("digest") != _digest(head, lines):
            raise ValueError
        found = HeldOut(str(head["data"]), int(head["count"]), tuple(_read_line(read_json(line)) for line in lines))
    except FileNotFoundError:
        return NOTHING
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(
            f"{file}: the file was changed or damaged since it was written; delete it, or train the run again to have "
            "its examples."
        ) from None
    return found if head["weights"] == read_weights_digest(folder) else NOTHING


def _make_line(result: Evaluation, row: int, names: Sequence[str] | None, pixels: Mapping[str, str]) -> HeldOutLine:
    one, others = result.predictions[row], result.further_references(row)
    captions = names is not None and any(result.more)  # of several captions no single one is right
    return HeldOutLine(
        number=row + 1,
        source=show_sentences(one.source) if names is None else names[row],
        output=one.text,
        references=(result.references[row], *others),
        confidence=None if one.confidence is None else round(one.confidence, 6),
        correct=None if captions else result.is_correct(row),
        image=pixels.get(one.source),
    )


def _spread(total: int, count: int) -> list[int]:
    """Return so many rows of all, at equal distances, the first one among them."""
    return [number * total // count for number in range(count)]


def _name_images(paths: Sequence[str]) -> list[str]:
    """Return the names of images in the folder that holds all of them: a run folder need not tell where that is."""
    folder = commonpath([dirname(path) for path in paths]) if len({dirname(path) for path in paths}) > 1 else ""
    return [relpath(path, folder or dirname(path) or ".") for path in paths]


def _encode_images(run: "Run", files: Sequence[str]) -> dict[str, str]:
    """Return images as the model reads them, as data URLs, as many as fit at equal distances."""
    encoded: dict[str, str] = {}
    room, wanted = MAX_IMAGE_CHARACTERS, len(files)
    if files:
        first = _encode(run, files[0])
        wanted = min(wanted, max(room // max(len(first), 1), 1)) if first else 0
    for place in _spread(len(files), wanted):
        url = _encode(run, files[place])
        if url is not None and len(url) <= room and files[place] not in encoded:
            encoded[files[place]] = url
            room -= len(url)
    return encoded


def _encode(run: "Run", file: str) -> str | None:
    """Return one image as a data URL without loss; None if it cannot be read."""
    try:
        pixels = show_pixels(run.task.source.prepare([file]).gather([0])[0])
    except DataError:
        return None
    return None if pixels is None else encode_image(pixels, lossless=True)


def _read_line(found: Mapping[str, Any]) -> HeldOutLine:
    """Return a line if it is as one was written, whoever wrote it."""
    number, confidence, image = found["number"], found["confidence"], found["image"]
    texts = [found["source"], found["output"], *found["references"], image or ""]
    known = type(number) is int and type(found["references"]) is list and len(found["references"]) > 0
    sure = confidence is None or (type(confidence) in (int, float) and math.isfinite(confidence))
    judged = found["correct"] is None or type(found["correct"]) is bool
    shown = image is None or str(image).startswith("data:image/png;base64,")
    if not (known and sure and judged and shown and all(isinstance(text, str) for text in texts)):
        raise ValueError("this was never written")
    return HeldOutLine(**{**found, "references": tuple(found["references"])})


def _digest(known: Mapping[str, object], lines: Sequence[str]) -> str:
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    for line in lines:
        digest.update(line.encode(errors="surrogatepass") + b"\n")
    return digest.hexdigest()
