"""Seed realistic mistakes one by one in a copy of the source and count how many of them the tests see.

    python bench/mutants.py                     # all mutants; the page's scripts need Chromium
    python bench/mutants.py nn search --whole   # two packages; survivors are tried against all fast tests
    python bench/mutants.py nn --only causal    # mutants whose mistake has this word

Tables of mutants are in `bench/mutants/PACKAGE.toml`: a file below the package, an exact text that occurs once in it,
the text that replaces it, and the tests that are most likely to fail. A mutant that nobody can tell from the source
says why in `equivalent`, and is not run. The exit code is 1 if fewer than 95 % of the Python mutants or 90 % of the
scripts' mutants die.
"""

import argparse
import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLES = Path(__file__).resolve().with_suffix("")
BARS = {"python": 0.95, "scripts": 0.90}
TIMEOUT_SECONDS = 600.0
FAST, SLOW = "not slow", "slow"  # marks of tests
# exit codes of pytest: all passed, or all were left out; a test failed, an import failed, or it took too long
PASSED, FAILED = (0, 5), (1, 2, -signal.SIGKILL)
# imported once, and shared by the processes of all mutants: every test needs some of them
SHARED = (
    *("torch", "torch.distributed", "torch.utils.tensorboard", "numpy", "pytest", "jaxtyping", "beartype", "pydantic"),
    *("tokenizers", "safetensors", "sacrebleu", "rapidfuzz", "rich", "typer", "yaml", "regex", "PIL.Image"),
    *("matplotlib.figure", "sklearn.metrics", "httpx", "starlette", "uvicorn"),
)


@dataclass(frozen=True)
class Mutant:
    """One mistake: a text that occurs once in a file, and what stands there instead.

    Args:
        package: the name of the table.
        file: the file, from the root of the project.
        mistake: what went wrong, in words.
        old: the text that is replaced.
        new: what replaces it.
        tests: test files or tests, from `tests`; run first.
        equivalent: why nobody can see the difference, or "".
    """

    package: str
    file: Path
    mistake: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""

    @property
    def is_script(self) -> bool:
        """Whether it is one of the page's scripts."""
        return self.file.suffix == ".js"

    def apply(self, text: str) -> str:
        """Give the file's text with the mistake in it.

        Args:
            text: the file as it should be.
        """
        count = text.count(self.old)
        if count != 1:
            raise LookupError(f"{self.file}: {self.old!r} must occur once; it occurs {count} times ({self.mistake}).")
        return text.replace(self.old, self.new)


def read_mutants(root: Path = ROOT, *, packages: Collection[str] = ()) -> list[Mutant]:
    """Read tables and check that every mutant still fits its file.

    Args:
        root: the root of the project.
        packages: the names of the tables; all if empty.
    """
    tables = [table for table in sorted(TABLES.glob("*.toml")) if not packages or table.stem in packages]
    found = [mutant for table in tables for mutant in _read_table(table)]
    for mutant in found:
        changed = mutant.apply((root / mutant.file).read_text(encoding="utf-8"))
        if mutant.is_script:
            _check_brackets(mutant)
        else:
            ast.parse(changed, filename=str(mutant.file))
    return found


def _check_brackets(mutant: Mutant) -> None:
    for pair in ("()", "[]", "{}"):
        before, after = (text.count(pair[0]) - text.count(pair[1]) for text in (mutant.old, mutant.new))
        if before != after:
            raise SyntaxError(f"{mutant.file}: {pair} must stay in pairs; they do not ({mutant.mistake}).")


def _read_table(table: Path) -> Iterator[Mutant]:
    written = tomllib.loads(table.read_text(encoding="utf-8"))
    folder = Path(written["folder"])
    for each in written["mutant"]:
        tests = each.get("tests", written.get("tests", []))
        rest = {key: each[key] for key in ("mistake", "old", "new", "equivalent") if key in each}
        yield Mutant(table.stem, folder / each["file"], tests=tuple(tests), **rest)


def copy_project(target: Path) -> None:
    """Copy what the tests need.

    Args:
        target: a new folder.
    """
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run_tests(root: Path, tests: Sequence[str], *, marked: str = "") -> tuple[bool, str]:
    """Run tests in a process of their own until one fails.

    Args:
        root: the copy of the project.
        tests: what to run, from its folder of tests; all if empty.
        marked: only tests with these marks.

    Returns:
        Whether all passed, and what was printed.
    """
    # modules of plugins that are imported already cannot have their assertions rewritten, and need not
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *quiet, "-m", marked]
    arguments += [f"tests/{test}" for test in tests]
    with tempfile.TemporaryFile("w+b") as output:
        child = os.fork()
        if child == 0:
            _become_pytest(root, arguments, output.fileno())
        status = _wait(child)
        output.seek(0)
        printed = output.read().decode(errors="replace")
    if status not in (*PASSED, *FAILED):
        raise RuntimeError(f"pytest could not run {' '.join(tests)} (exit code {status}):\n{printed[-3000:]}")
    return status in PASSED, printed


def _become_pytest(root: Path, arguments: list[str], output: int) -> None:
    code = 70
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(root)
        os.environ["PYTHONPATH"] = str(root / "src")
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # what is compiled of a mistake must not outlive it
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(root / "src"), str(root)]
        code = int(import_module("pytest").main(arguments))
        sys.stdout.flush()
    finally:
        os._exit(code)


def _wait(child: int) -> int:
    """A process that does not end is killed with all that it started, and has failed."""
    ends = time.monotonic() + TIMEOUT_SECONDS
    done = 0
    while not done and time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        os.waitpid(child, 0)
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(status)


@contextmanager
def planted(root: Path, mutant: Mutant) -> Iterator[None]:
    """Put a mistake into a copy of the project, and take it out again.

    Args:
        root: the copy.
        mutant: the mistake.
    """
    file = root / mutant.file
    before = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutant.apply(before), encoding="utf-8")
        yield
    finally:
        file.write_text(before, encoding="utf-8")


def parse_scripts(mutants: Iterable[Mutant]) -> None:
    """Refuse a script that is no JavaScript, because such a mistake dies for the wrong reason.

    Args:
        mutants: those of the scripts.
    """
    node = shutil.which("node")
    for mutant in mutants if node else ():
        text = mutant.apply((ROOT / mutant.file).read_text(encoding="utf-8"))
        command = [str(node), "--input-type=module", "--check", "-"]
        if subprocess.run(command, input=text, text=True, capture_output=True, check=False).returncode:
            raise SyntaxError(f"{mutant.file}: the mutant does not parse ({mutant.mistake}).")


def main() -> int:
    """Run the mutants that were asked for and print what became of them."""
    options = _read_options()
    chosen = [mutant for mutant in read_mutants(packages=options.packages) if options.only in mutant.mistake]
    parse_scripts(mutant for mutant in chosen if mutant.is_script)
    for name in SHARED:
        if util.find_spec(name.partition(".")[0]):
            import_module(name)
    with tempfile.TemporaryDirectory(prefix="seq2see-mutants-") as name:
        root = Path(name)
        copy_project(root)
        if not options.unchecked:
            _check_tests(root, chosen)
        fates = [(mutant, _try(root, mutant, whole=options.whole)) for mutant in chosen]
    return _report(fates)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="*", help="names of tables; all if none is given")
    parser.add_argument("--only", default="", help="mutants whose mistake has this text")
    parser.add_argument("--whole", action="store_true", help="try survivors against all fast tests")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests on the source as it is first")
    return parser.parse_args()


def _check_tests(root: Path, mutants: Sequence[Mutant]) -> None:
    tests = sorted({test for mutant in mutants if not mutant.equivalent for test in mutant.tests})
    passed, output = run_tests(root, tests)
    if not passed:
        sys.exit(f"the tests must pass before a mistake is made:\n{output[-3000:]}")


def _try(root: Path, mutant: Mutant, *, whole: bool) -> str:
    if mutant.equivalent:
        return "equivalent"
    began = time.monotonic()
    with planted(root, mutant):
        passed, output = run_tests(root, mutant.tests, marked=FAST)
        if passed and whole:
            passed, output = run_tests(root, [], marked=FAST)
        if passed:
            passed, output = run_tests(root, mutant.tests, marked=SLOW)
    fate = "survived" if passed else "killed"
    why = next((line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    print(
        f"{fate:9} {time.monotonic() - began:5.0f} s  {mutant.file.relative_to('src/seq2see')}: {mutant.mistake}"
        f"{'  <- ' + why[:150] if why else ''}",
        flush=True,
    )
    return fate


def _report(fates: Sequence[tuple[Mutant, str]]) -> int:
    print(f"\n{'package':12} {'killed':>7} {'survived':>9} {'equivalent':>11}")
    for package in dict.fromkeys(mutant.package for mutant, _ in fates):
        counts = Counter(fate for mutant, fate in fates if mutant.package == package)
        print(f"{package:12} {counts['killed']:7} {counts['survived']:9} {counts['equivalent']:11}")
    missed = False
    for kind, bar in BARS.items():
        counts = Counter(fate for mutant, fate in fates if mutant.is_script == (kind == "scripts"))
        tried = counts["killed"] + counts["survived"]
        if tried:
            share = counts["killed"] / tried
            missed |= share < bar
            print(f"{kind}: {counts['killed']} of {tried} killed, {share:.1%} (at least {bar:.0%} must be)")
    for mutant, fate in fates:
        if fate == "survived":
            print(f"survived: {mutant.file}: {mutant.mistake}: {mutant.old!r} -> {mutant.new!r}")
        if fate == "equivalent":
            print(f"equivalent: {mutant.file}: {mutant.mistake}: {mutant.equivalent}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
