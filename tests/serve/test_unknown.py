"""Unknown words that are replaced: an answer has one text, and all its tokens stand in it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from served import Client, ask

from seq2see.cli.predict import write_json
from seq2see.core.special_tokens import UNKNOWN
from seq2see.runs.checkpoint import read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import load
from seq2see.serve.handler import RequestHandler

ASKED: dict[str, Any] = {"text": "abc ☃☃ cab", "min_length": 5, "max_length": 6, "replace_unknown": True}
WAYS: list[dict[str, Any]] = [{"beam": 1}, {"beam": 4}, {"seed": 3}]


@pytest.fixture(scope="module")
def ignorant(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that finds the unknown mark likely."""
    path = tmp_path_factory.mktemp("ignorant") / "run"
    shutil.copytree(folders[0], path)
    weights = read_checkpoint(RunFolder(path).weights_file)
    weights.tensors["decoder.output.bias"][UNKNOWN] += 2.5
    write_checkpoint(RunFolder(path).weights_file, weights)
    return path


def stands(text: str, tokens: list[dict[str, Any]]) -> bool:
    """Whether all tokens stand where they say; marks have no letters."""
    return all(text[token["start"] : token["end"]] in (token["text"], "") for token in tokens) and "<unk>" not in {
        token["text"] for token in tokens
    }


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_answer_has_one_text(ignorant: Path, way: dict[str, Any]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        plain = await client.post("/v1/predict", json={**ASKED, **way, "attention": "full"})
        seen = await client.post("/v1/explain", json={**ASKED, **way})
        return plain.json()["outputs"][0], seen.json()

    output, seen = ask([ignorant], talk)
    assert UNKNOWN in output["ids"]
    assert output["text"] == seen["target"]
    for tokens in (output["tokens"], output["attention"]["target_tokens"], seen["target_tokens"]):
        assert len(tokens) == len(output["ids"])
        assert stands(output["text"], tokens)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_stream_takes_no_unknown_word_back(ignorant: Path, way: dict[str, Any]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        return (await client.post("/v1/predict/stream", json={**ASKED, **way, "prefix": "ab"})).text

    lines = ask([ignorant], talk).splitlines()
    events = [(name[7:], json.loads(data[6:])) for name, data in zip(lines[::3], lines[1::3], strict=True)]
    output = events[-1][1]["output"]
    assert output["ids"].index(UNKNOWN) >= 2
    said = [data for name, data in events if name == "token"]
    assert [token["id"] for token in said] == output["ids"]
    assert stands(output["text"], said)


def test_the_lines_of_predict_have_one_kind_of_tokens(ignorant: Path) -> None:
    prediction = load(ignorant).predict(ASKED["text"], beam=1, replace_unknown=True)
    row = json.loads(write_json(prediction, attention=True))
    assert UNKNOWN in prediction.ids
    assert [token["text"] for token in row["tokens"]] == [token["text"] for token in row["attention"]["target_tokens"]]
