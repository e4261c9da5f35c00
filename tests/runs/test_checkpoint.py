"""The file of a checkpoint: the same bytes for the same content, whatever the order and the process."""

import subprocess
import sys
from pathlib import Path

import torch

from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

WRITE = """
import sys
from pathlib import Path
import torch
from seq2see.runs.checkpoint import Checkpoint, write_checkpoint

shared = torch.arange(6.0).view(2, 3)
tensors = {"w.b": shared, "w.a": shared, "half": torch.ones(3, dtype=torch.float16), "n": torch.tensor(7)}
facts = {"update": 4, "complete": False, "name": "ü\\u007f"}
if sys.argv[2] == "turned":
    tensors, facts = dict(reversed(tensors.items())), dict(reversed(facts.items()))
write_checkpoint(Path(sys.argv[1]), Checkpoint(tensors, facts))
"""


def test_the_same_content_is_the_same_bytes(tmp_path: Path) -> None:
    """Libraries draw the order of their hash tables anew in every process."""
    written = set()
    for number, order in enumerate(["straight", "turned", "straight"]):
        file = tmp_path / f"{number}.safetensors"
        subprocess.run([sys.executable, "-c", WRITE, str(file), order], check=True)
        written.add(file.read_bytes())
    assert len(written) == 1
    read = read_checkpoint(file)
    assert read.facts == {"update": 4, "complete": False, "name": "ü\u007f"}
    assert torch.equal(read.tensors["w.a"], torch.arange(6.0).view(2, 3))
    assert read.tensors["w.a"].data_ptr() == read.tensors["w.b"].data_ptr()


def test_tensors_begin_at_a_multiple_of_eight_bytes(tmp_path: Path) -> None:
    for length in range(1, 9):
        write_checkpoint(tmp_path / "x", Checkpoint({"n" * length: torch.ones(2, dtype=torch.double)}, {}))
        assert int.from_bytes((tmp_path / "x").read_bytes()[:8], "little") % 8 == 0
        assert read_checkpoint(tmp_path / "x").tensors["n" * length].tolist() == [1, 1]
