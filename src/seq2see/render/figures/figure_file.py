"""Figures as files: PNG or SVG."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from seq2see.core.errors import Seq2SeeError
from seq2see.system.files import write_atomic

FORMATS = ("png", "svg")
DPI = 160  # dots per inch of a PNG


def save_figure(figure: Figure, path: Path, *, formats: tuple[str, ...] = FORMATS) -> Path:
    """Write a figure to a file in one step, in the format of its ending, and return its path.

    Args:
        figure: the figure.
        path: the file.
        formats: the endings that an error names, without the dot; a figure itself is written as png or svg alone.

    Raises:
        Seq2SeeError: the path ends otherwise.
    """
    kind = check_figure_path(path, formats=formats)
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None  # without a date the same trace gives the same file
    figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata, facecolor="white")
    write_atomic(path, buffer.getvalue())
    return path


def check_figure_path(path: Path, *, formats: tuple[str, ...] = FORMATS) -> str:
    """Return the format of a figure by the ending of its file, such as png.

    Args:
        path: the file; upper and lower case are the same.
        formats: the endings that are allowed, without the dot.

    Raises:
        Seq2SeeError: the path ends otherwise.
    """
    kind = path.suffix.lower().lstrip(".")
    if kind not in formats:
        endings = " or .".join(formats)
        raise Seq2SeeError(f"the name of a figure must end in .{endings}; got {path.name}; rename it.")
    return kind
