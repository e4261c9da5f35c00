"""The runs that are served: named, loaded when they are needed, and read again when their weights were replaced."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import suggest
from seq2see.run import Run, load
from seq2see.serve.schema import RefusalError
from seq2see.tasks.transduction import Transduction
from seq2see.train.folder import RunFolder

Kind = Literal["text", "image", "document"]
KINDS: dict[str, Kind] = {"pictures": "image", "documents": "document"}  # of a source, by what it is cut into

Stamp = tuple[int, int]

log = logging.getLogger("seq2see.serve")


@dataclass
class Shelf:
    """Runs by name: those that were given, and those in a folder of runs, whenever they appear there."""

    paths: Sequence[Path]
    folder: Path | None = None
    trust: bool = False
    _loaded: dict[Path, tuple[Stamp, Run]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def names(self) -> dict[str, Path]:
        """All runs there are now; of two with one name, the second goes by its path."""
        found: dict[str, Path] = {}
        for path in [*self.paths, *self._look()]:
            if path.resolve() not in [one.resolve() for one in found.values()]:
                name = path.resolve().name
                found[name if name not in found else str(path)] = path
        return found

    def find(self, name: str | None) -> tuple[str, Run]:
        """A run and its name; without a name, the first. It is loaded if it was not, or was trained on since."""
        names = self.names()
        if not names:
            raise RefusalError("no run is served yet; train one.", status=503)
        name = next(iter(names)) if name is None else name
        if name not in names:
            known = ", ".join(names)
            raise RefusalError(
                f"no run is called {name[:80]!r}{suggest(name, list(names))} (there are: {known}).", status=404
            )
        try:
            return name, self._load(names[name])
        except Seq2SeeError as error:
            raise RefusalError(f"the run {name} cannot be used: {error}", status=503) from None
        except Exception as error:  # whatever a folder can hold; the others go on
            log.debug("a run cannot be read", exc_info=True)
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise RefusalError(f"the run {name} cannot be used: it cannot be read ({reason}).", status=503) from None

    def describe(self) -> list[dict[str, Any]]:
        """What each run is, or why it cannot be used."""
        return [self._describe(name) for name in self.names()]

    def _describe(self, name: str) -> dict[str, Any]:
        try:
            _, run = self.find(name)
        except RefusalError as error:
            return {"name": name, "error": str(error)}
        return {
            "name": name,
            "preset": run.config.preset,
            "source": source_kind(run),
            "writes": "text" if isinstance(run.task, Transduction) else "label",
            "search": run.config.search if isinstance(run.config.search, str) else dict(run.config.search),
            "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        }

    def _look(self) -> list[Path]:
        """The folders that hold a run, whole or not, in the order of their names."""
        if self.folder is None or not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.iterdir() if (path / "weights.safetensors").is_file())

    def _load(self, path: Path) -> Run:
        with self._lock:
            stamp = _stamp(path)
            if path not in self._loaded or self._loaded[path][0] != stamp:
                self._loaded[path] = (stamp, load(path, trust=self.trust))
            return self._loaded[path][1]


def source_kind(run: Run) -> Kind:
    """What a run reads."""
    spec: Any = run.config.tokens.source
    kind = spec if isinstance(spec, str) else (spec or {}).get("kind", "")
    return KINDS.get(kind, "text")


def _stamp(path: Path) -> Stamp:
    """What changes when the weights are replaced."""
    try:
        stat = RunFolder(path).weights_file.stat()
    except OSError:
        return (0, 0)
    return stat.st_mtime_ns, stat.st_size
