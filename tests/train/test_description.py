"""What a training says before it begins: what will hurt it."""

from pathlib import Path

import pytest
from reversal import write_reversals

from seq2see.training.arguments import make_request
from seq2see.training.description import find_risks
from seq2see.training.launch import prepare_training


@pytest.mark.parametrize(("count", "few"), [(2, True), (49, True), (50, False)])
def test_too_few_pairs_to_learn_from_are_a_risk(tmp_path: Path, count: int, few: bool) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{number}a\tb{number}\n" for number in range(count)), encoding="utf-8")
    for valid in (None, write_reversals(tmp_path / "valid.tsv")):
        job = prepare_training(make_request(file, out=tmp_path / f"run {valid is None}", valid=valid, settings=[]))
        risks = [risk for risk in find_risks(job) if "scores on so few mean nothing" in risk]
        assert [risk.partition(" cannot")[0] for risk in risks] == ([f"{count} pairs"] if few else [])
