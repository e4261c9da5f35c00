"""METEOR 1.5, which is a Java program: one process that is asked line by line, and either a whole score or an error."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType

from seq2see.core.errors import ConfigError, Seq2SeeError

METEOR = "1.5"
MEMORY = "2G"
# in English whatever the country, or half of the world gets commas in its numbers
JAVA = ("java", f"-Xmx{MEMORY}", "-XX:+UseSerialGC", "-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8")
PATIENCE = 300.0  # seconds for one answer; the first one waits for 60 MB of paraphrases on a busy machine


class DiedError(Exception):
    """The process ended or fell silent; the message says how."""


def explain_absence() -> str | None:
    """What has to be installed before METEOR can run, as one sentence; None if nothing."""
    needs = []
    if shutil.which("java") is None:
        needs.append("Java (apt install default-jre-headless)")
    if find_jar() is None:
        needs.append("the package pycocoevalcap (pip install 'seq2see[meteor]')")
    return f"METEOR needs {' and '.join(needs)}; install that, or leave METEOR out." if needs else None


def find_jar() -> Path | None:
    """METEOR's program with its paraphrases, inside the package that brings it."""
    spec = find_spec("pycocoevalcap")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        jar = Path(folder) / "meteor" / f"meteor-{METEOR}.jar"
        if jar.is_file() and (jar.parent / "data" / "paraphrase-en.gz").is_file():
            return jar
    return None


class MeteorError(Seq2SeeError):
    """METEOR is there, but cannot score."""


class Meteor:
    """A METEOR process: begun at the first score, begun again if it dies, ended with its `with` block."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        absence = explain_absence()
        if absence is not None:
            raise ConfigError(absence)
        self.patience = patience
        self._process: subprocess.Popen[str] | None = None
        self._answers: Queue[str | None] = Queue()

    def __enter__(self) -> "Meteor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def score(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """METEOR of the corpus, from 0 to 1 (Denkowski & Lavie 2014); words must stand between spaces."""
        try:
            return self._score(outputs, references)
        except DiedError:
            pass
        try:
            return self._score(outputs, references)  # in a new process, from the first line on: never half a score
        except DiedError as error:
            raise MeteorError(
                f"METEOR gave up twice ({error}); check that java runs and that {MEMORY} of memory are free."
            ) from None

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        process.wait()

    def _score(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        counts = [self._ask(_write_question(o, r)) for o, r in zip(outputs, references, strict=True)]
        self._tell(" ||| ".join(["EVAL", *counts]))
        numbers = [self._hear() for _ in range(len(counts) + 1)]  # one for each output, and last that of the corpus
        return self._read_number(numbers[-1])

    def _ask(self, question: str) -> str:
        self._tell(question)
        answer = self._hear()
        self._read_number(answer)  # or it is a complaint
        return answer

    def _read_number(self, text: str) -> float:
        try:
            return float(text.partition(" ")[0])
        except ValueError:
            self.close()
            raise DiedError(f"it said {text[:80]!r} where a number belongs") from None

    def _tell(self, line: str) -> None:
        process = self._process or self._begin()
        assert process.stdin is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except OSError:
            self.close()
            raise DiedError("its process ended") from None

    def _hear(self) -> str:
        try:
            line = self._answers.get(timeout=self.patience)
        except Empty:
            self.close()
            raise DiedError(f"no answer for {self.patience:g} seconds") from None
        if line is None:
            self.close()
            raise DiedError("its process ended")
        return line.strip()

    def _begin(self) -> subprocess.Popen[str]:
        jar = find_jar()
        assert jar is not None
        self._answers = Queue()
        self._process = subprocess.Popen(
            [*JAVA, "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # nobody reads it, and a full pipe would stop the process
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        Thread(target=_listen, args=(self._process.stdout, self._answers), daemon=True).start()
        return self._process


def _write_question(output: str, references: Sequence[str]) -> str:
    """One line for an output and its references; bars between them, so no text may have any."""
    texts = [re.sub(r"[\s|]+", " ", text).strip() for text in (*references, output)]
    return " ||| ".join(["SCORE", *texts])


def _listen(stream: Iterable[str], answers: "Queue[str | None]") -> None:
    with suppress(ValueError, OSError):  # closed while we listened
        for line in stream:
            answers.put(line)
    answers.put(None)
