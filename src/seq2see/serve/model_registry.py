"""The registry of served runs: it finds them by name, loads them when needed, and reloads them after a change."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from os.path import lexists
from pathlib import Path

from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import suggest
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run, load
from seq2see.serve.bounds import Bounds
from seq2see.serve.request_error import RequestError
from seq2see.serve.response_schemas import ModelInfo
from seq2see.serve.run_description import describe_run
from seq2see.serve.shared_call import SharedCall

Version = tuple[tuple[int, int], ...]  # of each file: time of the last change in nanoseconds, size in bytes

FAILURE_SECONDS = 10.0  # how long a failure to load is remembered, unless the files change
LISTING_SECONDS = 1.0  # how long a request waits for the list of a folder; then it takes the last list
MODELS_SECONDS = 2.0  # how long the description of all runs waits for one that is being loaded

log = logging.getLogger("seq2see.serve")


class LoadingError(RequestError):
    """A run is still being loaded."""


class RunLoader:
    """Loads one run on a thread of its own, again when its weights have changed, and remembers failures for a while.

    Args:
        path: the run folder.
        trust: whether to run the code of its own that the run names.
        sandbox: whether to try the run in a process with limits first.
        device: where the model computes, as `seq2see.load` takes it.
    """

    def __init__(self, path: Path, *, trust: bool, sandbox: bool, device: str = "auto") -> None:
        self.path, self.trust, self.sandbox, self.device = path, trust, sandbox, device
        self._call = SharedCall(self._load)
        self._loaded: tuple[Version, Run] | None = None
        self._failure: tuple[Version, float, str] | None = None

    async def find(self, seconds: float) -> Run:
        """Return the run; it is loaded if it is new or its weights have changed.

        Args:
            seconds: the longest time to wait. If the disk does not answer, a run that is loaded is returned as it is.

        Raises:
            Seq2SeeError: the run cannot be used.
            TimeoutError: it is still being loaded.
        """
        try:
            return await self._call.wait(seconds)
        except TimeoutError:
            if self._loaded is None:
                raise
            return self._loaded[1]

    def _load(self) -> Run:
        folder = RunFolder(self.path)
        version = _read_version([folder.weights_file])
        if self._loaded is not None and self._loaded[0] == version:
            return self._loaded[1]
        files = _read_version(folder.files)
        if self._failure is not None:
            known, failed, sentence = self._failure
            if known == files and time.monotonic() - failed < FAILURE_SECONDS:
                raise Seq2SeeError(sentence)
        try:
            run = load(self.path, trust=self.trust, sandbox=self.sandbox, device=self.device)
        except Exception as error:  # one damaged folder must not stop the other runs
            log.debug("a run cannot be read", exc_info=True)
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            sentence = str(error) if isinstance(error, Seq2SeeError) else f"it cannot be read ({reason})."
            self._failure = (files, time.monotonic(), sentence)
            raise Seq2SeeError(sentence) from None
        self._loaded, self._failure = (version, run), None
        return run


class ModelRegistry:
    """The runs that are served, by name.

    Args:
        paths: run folders; the first is the default run.
        folder: a folder of run folders; those that appear in it later are served, too. None for no such folder.
        trust: whether to run the code of its own that a run names.
        sandbox: whether to try each run in a process with limits before it is loaded.
        device: where the models compute, as `seq2see.load` takes it.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        folder: Path | None = None,
        *,
        trust: bool = False,
        sandbox: bool = False,
        device: str = "auto",
    ) -> None:
        self.paths, self.folder, self.trust, self.sandbox, self.device = paths, folder, trust, sandbox, device
        self.names: Mapping[str, Path] = {}  # when they were last listed
        self._listing = SharedCall(self._list)
        self._loaders: dict[Path, RunLoader] = {}

    async def list_names(self) -> Mapping[str, Path]:
        """Return the paths of all runs by name, the default first; the second run of a name is named by its path."""
        if self.folder is not None or not self.names:
            try:
                self.names = await self._listing.wait(LISTING_SECONDS)
            except (TimeoutError, OSError, RuntimeError):  # the disk does not answer, or the folder is gone
                log.debug("the runs cannot be listed", exc_info=True)
            for path in self._loaders.keys() - set(self.names.values()):
                del self._loaders[path]
        return self.names

    async def find(self, name: str | None, seconds: float = Bounds.seconds) -> tuple[str, Run]:
        """Return a run with its name; it is loaded if it is new or its weights have changed.

        Args:
            name: the name of the run; None takes the first.
            seconds: the longest time to wait for its loading.

        Raises:
            RequestError: with status 404 if no run has this name, or 503 if there is no run, it cannot be loaded, or is
                still being loaded.
        """
        names = await self.list_names()
        if not names:
            raise RequestError("no run is served yet; train one first.", status=503)
        name = next(iter(names)) if name is None else name
        if name not in names:
            known = ", ".join(names)
            raise RequestError(
                f"no run is called {name[:80]!r}{suggest(name, list(names))} (there are: {known}).", status=404
            )
        path = names[name]
        loader = self._loaders.setdefault(
            path, RunLoader(path, trust=self.trust, sandbox=self.sandbox, device=self.device)
        )
        try:
            return name, await loader.find(seconds)
        except TimeoutError:
            raise LoadingError(
                f"the run {name} is still being loaded; try again later.", status=503, headers={"Retry-After": "5"}
            ) from None
        except Seq2SeeError as error:
            raise RequestError(f"the run {name} cannot be used: {error}", status=503) from None

    async def find_any(self, seconds: float = Bounds.seconds) -> tuple[str, Run]:
        """Return the first run that can be used, whichever is ready first.

        Args:
            seconds: the longest time to wait.

        Raises:
            RequestError: with status 503 if no run can be used; the message is that of the first.
        """
        names = await self.list_names()
        finding = [asyncio.create_task(self.find(name, seconds)) for name in names or [None]]
        try:
            for each in asyncio.as_completed(finding):
                try:
                    return await each
                except RequestError:
                    continue
            return await finding[0]  # which raises its error
        finally:
            for task in finding:
                task.cancel()
            await asyncio.gather(*finding, return_exceptions=True)

    async def describe(self, seconds: float = MODELS_SECONDS) -> list[ModelInfo]:
        """Return a description of each run, or why it cannot be used; every run is loaded.

        Args:
            seconds: the longest time to wait for runs that are being loaded.
        """
        return await asyncio.gather(*(self._describe(name, seconds) for name in await self.list_names()))

    async def _describe(self, name: str, seconds: float) -> ModelInfo:
        try:
            _, run = await self.find(name, seconds)
        except LoadingError as error:
            return ModelInfo(name=name, error=str(error), loading=True)
        except RequestError as error:
            return ModelInfo(name=name, error=str(error))
        return describe_run(name, run)

    def _list(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        known: set[Path] = set()
        for path in [*self.paths, *self._list_folder()]:
            place = path.resolve()
            if place not in known:
                known.add(place)
                name = place.name if place.name not in found else str(path)
                found[name.encode(errors="backslashreplace").decode()] = path  # JSON has no other bytes
        return found

    def _list_folder(self) -> list[Path]:
        """Return the folders that hold weights, or what stands in their place, in the order of their names."""
        if self.folder is None or not self.folder.is_dir():
            return []
        # a folder that may not be read is left out; a method of Path would raise an error there
        return sorted(path for path in self.folder.iterdir() if lexists(path / "weights.safetensors"))


def _read_version(files: Sequence[Path]) -> Version:
    """Return the version of some files; zeros for one that cannot be read."""

    def read(file: Path) -> tuple[int, int]:
        try:
            stat = file.stat()
        except OSError:
            return (0, 0)
        return stat.st_mtime_ns, stat.st_size

    return tuple(read(file) for file in files)
