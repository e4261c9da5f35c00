"""A script without `if __name__ == "__main__":` that trains and evaluates with worker processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
print("this script ran")
import seq2see

pairs = [(f"ab{number}", f"{number}ba") for number in range(40)]
size = {"size": 16, "embedding_size": 8}
train = {"updates": 2, "workers": 2, "validate_every": 2, "validation_pairs": 4}
run = seq2see.train(pairs, preset="bahdanau2015", out="run", model={"encoder": size, "decoder": size}, train=train)
result = run.evaluate(pairs[:4], workers=2)
assert result.predictions[0].run is run
print(len(result.predictions), "predictions")
"""


@pytest.mark.slow
def test_a_script_without_a_guard_may_start_workers(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, "script.py"]
    done = subprocess.run(words, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["this script ran", "4 predictions"]
