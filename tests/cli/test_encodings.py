"""Files in other encodings than UTF-8, through the commands."""

from pathlib import Path

import pytest
from reversal import write_reversals

from command import refused, seq2see
from seq2see.config.load import load_config

QUICK = [
    *("train.updates=4", "train.validate_every=4", "search.max_length=8", "model.encoder.size=16"),
    *("model.decoder.size=16", "train.batch_tokens=256"),
]


@pytest.mark.slow
def test_a_named_encoding_is_kept_in_the_configuration(tmp_path: Path) -> None:
    text = write_reversals(tmp_path / "utf8.tsv", 60).read_text().translate(str.maketrans("abcdefgh", "фжсвещйк"))
    (tmp_path / "data.tsv").write_bytes(text.encode("cp1251"))
    assert "name its encoding" in refused(seq2see("train", "data.tsv", *QUICK, "--out", "run", cwd=tmp_path))
    result = seq2see("train", "data.tsv", "--encoding", "cp1251", *QUICK, "--out", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert load_config(file=tmp_path / "run" / "config.yaml").config.data.encoding == "cp1251"
    assert "ж" in (tmp_path / "run" / "source.tokenizer.json").read_text()
    for command in ("evaluate", "align"):
        result = seq2see(command, "run", "data.tsv", "--encoding", "cp1251", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    result = seq2see("doctor", "data.tsv", "--encoding", "cp1251", cwd=tmp_path)
    assert result.stdout.startswith("train: 60 usable pairs"), result.stderr
    assert "such as utf-8" in refused(seq2see("train", "data.tsv", "--encoding", "klingon", cwd=tmp_path))


def test_a_guess_is_printed(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").write_bytes("".join(f"süß{n}\tsweet{n}\n" for n in range(9)).encode("latin-1"))
    result = seq2see("doctor", "data.tsv", cwd=tmp_path)
    assert "warning: " in result.stderr
    assert "data.tsv, line 1: the text is not UTF-8, and is read as cp1252; if letters are wrong" in result.stderr
