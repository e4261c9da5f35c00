"""The registry of served runs: it finds them by name, loads them when needed, and reloads them after a change."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import suggest
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run, load
from seq2see.serve.requests import RequestError
from seq2see.serve.response_schemas import ModelInfo

Version = tuple[int, int]  # of the weights: time of the last change in nanoseconds, size in bytes

log = logging.getLogger("seq2see.serve")


@dataclass
class ModelRegistry:
    """The runs that are served, by name.

    Args:
        paths: run folders; the first is the default run.
        folder: a folder of run folders; those that appear in it later are served, too. None for no such folder.
        trust: whether to run the code of its own that a run names.
    """

    paths: Sequence[Path]
    folder: Path | None = None
    trust: bool = False
    _loaded: dict[Path, tuple[Version, Run]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def names(self) -> dict[str, Path]:
        """Return the paths of all runs by name, the default first; the second run of a name is named by its path."""
        found: dict[str, Path] = {}
        for path in [*self.paths, *self._list_folder()]:
            if path.resolve() not in [one.resolve() for one in found.values()]:
                name = path.resolve().name
                found[name if name not in found else str(path)] = path
        return found

    def find(self, name: str | None) -> tuple[str, Run]:
        """Return a run with its name; it is loaded if it is new or its weights have changed.

        Args:
            name: the name of the run; None takes the first.

        Raises:
            RequestError: with status 404 if no run has this name, or 503 if there is no run or it cannot be loaded.
        """
        names = self.names()
        if not names:
            raise RequestError("no run is served yet; train one first.", status=503)
        name = next(iter(names)) if name is None else name
        if name not in names:
            known = ", ".join(names)
            raise RequestError(
                f"no run is called {name[:80]!r}{suggest(name, list(names))} (there are: {known}).", status=404
            )
        try:
            return name, self._load(names[name])
        except Seq2SeeError as error:
            raise RequestError(f"the run {name} cannot be used: {error}", status=503) from None
        except Exception as error:  # one damaged folder must not stop the other runs
            log.debug("a run cannot be read", exc_info=True)
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise RequestError(f"the run {name} cannot be used: it cannot be read ({reason}).", status=503) from None

    def describe(self) -> list[ModelInfo]:
        """Return a description of each run, or why it cannot be used; every run is loaded."""
        return [self._describe(name) for name in self.names()]

    def _describe(self, name: str) -> ModelInfo:
        try:
            _, run = self.find(name)
        except RequestError as error:
            return ModelInfo(name=name, error=str(error))
        return ModelInfo(
            name=name,
            preset=run.config.preset,
            source=run.task.source.name,
            writes="text" if run.task.writes_text else "label",
            search=run.config.search if isinstance(run.config.search, str) else dict(run.config.search),
            parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        )

    def _list_folder(self) -> list[Path]:
        """Return the folders that hold weights, in the order of their names."""
        if self.folder is None or not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.iterdir() if (path / "weights.safetensors").is_file())

    def _load(self, path: Path) -> Run:
        with self._lock:
            version = _version(path)
            if path not in self._loaded or self._loaded[path][0] != version:
                self._loaded[path] = (version, load(path, trust=self.trust))
            return self._loaded[path][1]


def _version(path: Path) -> Version:
    """Return the version of the weights in a folder; zeros if they cannot be read."""
    try:
        stat = RunFolder(path).weights_file.stat()
    except OSError:
        return (0, 0)
    return stat.st_mtime_ns, stat.st_size
