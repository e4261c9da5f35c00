"""METEOR 1.5, which is a Java program: one process that answers line by line."""

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
from seq2see.core.installation import say_install

METEOR_VERSION = "1.5"
JAVA_MEMORY = "2G"
# an English locale, because others write numbers with commas
JAVA = (
    "java",
    f"-Xmx{JAVA_MEMORY}",
    "-XX:+UseSerialGC",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dfile.encoding=UTF-8",
)
ANSWER_TIMEOUT_SECONDS = 300.0  # the first answer waits for 60 MB of paraphrases


class MeteorDiedError(Exception):
    """Says that the process ended or did not answer."""


def explain_absence() -> str | None:
    """Say in one sentence what has to be installed before METEOR can run; None if nothing."""
    needs = []
    if shutil.which("java") is None:
        needs.append("Java (apt install default-jre-headless)")
    if find_jar() is None:
        needs.append(f"the package pycocoevalcap ({say_install(extra='meteor')})")
    return f"METEOR needs {' and '.join(needs)}; install that, or leave METEOR out." if needs else None


def find_jar() -> Path | None:
    """Find METEOR's program with its paraphrases in the package pycocoevalcap; None if it is not installed."""
    spec = find_spec("pycocoevalcap")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        jar = Path(folder) / "meteor" / f"meteor-{METEOR_VERSION}.jar"
        if jar.is_file() and (jar.parent / "data" / "paraphrase-en.gz").is_file():
            return jar
    return None


class MeteorError(Seq2SeeError):
    """Says that METEOR is installed, but cannot score."""


class Meteor:
    """Runs a METEOR process: started at the first score, restarted if it dies, ended with its `with` block.

    Args:
        timeout: seconds to wait for one answer.

    Raises:
        ConfigError: if Java or METEOR's program is not installed.
    """

    def __init__(self, *, timeout: float = ANSWER_TIMEOUT_SECONDS) -> None:
        absence = explain_absence()
        if absence is not None:
            raise ConfigError(absence)
        self.timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._answers: Queue[str | None] = Queue()

    def __enter__(self) -> "Meteor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def score(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Return METEOR of the corpus, 0 to 1 (Denkowski & Lavie 2014, doi:10.3115/v1/W14-3348).

        Args:
            outputs: one text for each source, with spaces between words.
            references: the references of each output, written in the same way.

        Raises:
            MeteorError: if the process ends or does not answer, twice.
        """
        try:
            return self._score(outputs, references)
        except MeteorDiedError:
            pass
        try:
            return self._score(outputs, references)  # in a new process, from the first line on: never half a score
        except MeteorDiedError as error:
            raise MeteorError(
                f"METEOR gave up twice ({error}); check that java runs and that {JAVA_MEMORY} of memory are free."
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
        self._read_number(answer)  # raises if the answer is an error message
        return answer

    def _read_number(self, text: str) -> float:
        try:
            return float(text.partition(" ")[0])
        except ValueError:
            self.close()
            raise MeteorDiedError(f"it said {text[:80]!r} where a number belongs") from None

    def _tell(self, line: str) -> None:
        process = self._process or self._begin()
        assert process.stdin is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except OSError:
            self.close()
            raise MeteorDiedError("its process ended") from None

    def _hear(self) -> str:
        try:
            line = self._answers.get(timeout=self.timeout)
        except Empty:
            self.close()
            raise MeteorDiedError(f"no answer for {self.timeout:g} seconds") from None
        if line is None:
            self.close()
            raise MeteorDiedError("its process ended")
        return line.strip()

    def _begin(self) -> subprocess.Popen[str]:
        jar = find_jar()
        assert jar is not None
        self._answers = Queue()
        self._process = subprocess.Popen(
            [*JAVA, "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a pipe that is not read would fill and stop the process
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        Thread(target=_listen, args=(self._process.stdout, self._answers), daemon=True).start()
        return self._process


def _write_question(output: str, references: Sequence[str]) -> str:
    """Write one line with an output and its references; bars separate them, so they are removed from texts."""
    texts = [re.sub(r"[\s|]+", " ", text).strip() for text in (*references, output)]
    return " ||| ".join(["SCORE", *texts])


def _listen(stream: Iterable[str], answers: "Queue[str | None]") -> None:
    with suppress(ValueError, OSError):  # closed while we listened
        for line in stream:
            answers.put(line)
    answers.put(None)
