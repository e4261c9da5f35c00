"""Words of other toolkits lead to settings and options that exist."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from typer.main import get_group

from seq2see.cli.app import app
from seq2see.config.load import load_config
from seq2see.config.schema import Config
from seq2see.config.settings import list_sections
from seq2see.config.synonyms import MEANINGS, SYNONYMS
from seq2see.core.errors import ConfigError


def list_keys(section: type[BaseModel], before: str = "") -> Iterator[str]:
    for name in section.model_fields:
        yield before + name
        yield from list_keys(list_sections(section)[name], f"{before}{name}.") if name in list_sections(section) else ()


def test_every_meaning_exists_and_no_word_is_a_key_itself() -> None:
    keys = set(list_keys(Config))
    options = {name for each in get_group(app).commands.values() for param in each.params for name in param.opts}
    for meaning, words in SYNONYMS:
        assert meaning.setting or meaning.option
        assert not meaning.option or meaning.option in options
        known = ".".join(meaning.setting.split(".")[:2])
        assert not meaning.setting or known in keys or known.partition(".")[0] == "search"
        for word in words.split():
            assert word not in options
            assert MEANINGS[word] is meaning, f"{word} has two meanings"
    assert len(MEANINGS) == sum(len(words.split()) for _, words in SYNONYMS)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("train.lr=3", "train.lr=3: there is no key 'train.lr'; did you mean train.learning_rate?"),
        ("lr=3", "lr=3: there is no key 'lr'; did you mean train.learning_rate?"),
        ("train.max_steps=3", "train.max_steps=3: there is no key 'train.max_steps'; did you mean train.updates?"),
        ("train.seed=3", "train.seed=3: there is no key 'train.seed'; did you mean seed?"),
        (
            "train.batch-size=3",
            "train.batch-size=3: there is no key 'train.batch-size'; did you mean train.batch_tokens, which counts "
            "tokens and not pairs?",
        ),
        (
            "train.num_epochs=3",
            "train.num_epochs=3: there is no key 'train.num_epochs'; did you mean train.updates, which counts "
            "batches and not times through the data?",
        ),
        ("output_dir=x", "output_dir=x: there is no key 'output_dir'; did you mean the option --out?"),
        ("train.max_tokens=9", "train.max_tokens=9: there is no key 'train.max_tokens'; did you mean data.max_tokens?"),
    ],
)
def test_a_word_of_another_toolkit_is_answered_with_ours(tmp_path: Path, setting: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(base={"preset": "bahdanau2015", "data": {"train": "x"}}, settings=[setting])
    assert str(caught.value) == sentence
