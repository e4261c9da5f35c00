"""Loading: layers lie over each other as people expect, and a mistake is named with file and line."""

from pathlib import Path
from typing import Any

import pytest

from seq2see.config.load import Loaded, load_config, parse_setting, preset_names, preset_text, read_preset
from seq2see.config.schema import Config, ParallelFiles
from seq2see.config.settings import spread_settings
from seq2see.core.errors import ConfigError
from seq2see.core.registry import part
from seq2see.search.factory import read_search

START = "preset: bahdanau2015\ndata:\n  train: x.tsv\n"  # three lines


def load(folder: Path, text: str | bytes, *settings: str) -> Loaded:
    file = folder / "c.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_config(file=file, settings=settings)


def check_parts(loaded: Loaded) -> None:
    """Check all parts a configuration names, as a training does."""
    config = loaded.config
    with loaded.naming_places():
        part("encoder", config.model.encoder, path=("model", "encoder"))
        for group in ("decoder", "pool"):
            if getattr(config.model, group) is not None:
                part(group, getattr(config.model, group), path=("model", group))
        read_search(config.search)
        part("schedule", config.train.schedule, path=("train", "schedule"))
        for side in ("source", "target", "joint"):
            if getattr(config.tokens, side) is not None:
                part("tokenizer", getattr(config.tokens, side), path=("tokens", side))


def refuse(folder: Path, text: str | bytes, *settings: str) -> str:
    """The one sentence that a configuration is refused with, without its folder."""
    with pytest.raises(ConfigError) as caught:
        check_parts(load(folder, text, *settings))
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence.replace(f"{folder}/", "")


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_needs_only_data(tmp_path: Path, preset: str) -> None:
    loaded = load(tmp_path, f"preset: {preset}\ndata: {{train: x.tsv}}\n")
    check_parts(loaded)
    assert loaded.config.preset == preset
    assert preset_text(preset).startswith("# ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trian: {}\n", "c.yaml, line 4: there is no key 'trian'; did you mean 'train'? (known: task, preset,"),
        ("  trian: x\n", "c.yaml, line 4: there is no key 'data.trian'; did you mean 'train'? (known: train, valid"),
        ("train:\n  updats: 3\n", "c.yaml, line 5: there is no key 'train.updats'; did you mean 'updates'?"),
        ("tokens:\n  sorce: bpe\n", "c.yaml, line 5: there is no key 'tokens.sorce'; did you mean 'source'?"),
        ("model:\n  encodr: rnn\n", "c.yaml, line 5: there is no key 'model.encodr'; did you mean 'encoder'?"),
        ("  test:\n    source: a\n    traget: b\n", "c.yaml, line 6: there is no key 'data.test.traget'; did you mean"),
        ("  test:\n    source: a\n", "c.yaml, line 4: the key data.test.target is missing; add it."),
        ("  test: {source: a, target: 3}\n", "c.yaml, line 4: data.test.target must be a valid string; got 3."),
        ("  test: 3\n", "c.yaml, line 4: data.test must be a valid string; got 3."),
        ("  fields: [a, a]\n", "c.yaml, line 4: data.fields must be two different names, [SOURCE, TARGET]; got"),
        ("  fields: [a]\n", "c.yaml, line 4: data.fields must be two different names"),
        ("train:\n  updates: many\n", "c.yaml, line 5: train.updates must be a valid integer; got 'many'."),
        ("train:\n  updates: 3.5\n", "c.yaml, line 5: train.updates must be a valid integer; got 3.5."),
        ("train:\n  updates: true\n", "c.yaml, line 5: train.updates must be a valid integer; got True."),
        ("train:\n  updates: 0\n", "c.yaml, line 5: train.updates must be greater than or equal to 1; got 0."),
        ("train:\n  learning_rate: .nan\n", "c.yaml, line 5: train.learning_rate must be a finite number; got nan."),
        ("train:\n  monitor: blue\n", "got 'blue'; did you mean 'bleu'?"),
        ("search: {kind:beam, width: 3}\n", "c.yaml, line 4: a colon must have a space behind it; got 'kind:beam';"),
        ("train: 3\n", "c.yaml, line 4: train must be a section of keys (updates, batch_tokens"),
        (f"seed: {10**70}\n", "c.yaml, line 4: seed must be"),
        ("3: 4\n", "c.yaml, line 4: a key must be a word; got 3."),
        ("seed: 1\nseed: 2\n", "c.yaml, line 5: the key seed must occur once; it is in line 4, too;"),
        ("tokens: {joint: bpe, source: bpe}\n", "c.yaml, line 4: tokens must have either source and target, or joint"),
        ("tokens: {source: 3}\n", "c.yaml, line 4: tokens.source must be a name or {kind: name, option: value}; got 3"),
        ("model: {encoder: [rnn]}\n", "c.yaml, line 4: model.encoder must be a name or {kind: name, option: value}"),
        ("model: {encoder: {3: 4}}\n", "c.yaml, line 4: model.encoder must be a name or"),
        ("seed: [\n", "c.yaml, line 5: this is not YAML:"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refuse(tmp_path, START + text)
    assert expected in refuse(tmp_path, (START + text).replace("\n", "\r\n"))
    assert expected in refuse(tmp_path, b"\xef\xbb\xbf" + (START + text).encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("preset: bahdanau2015\n", "c.yaml: the key data is missing; add it."),
        ("data: {train: x}\n", "c.yaml: the key tokens is missing; add it, or name a preset (bahdanau2015"),
        ("preset: bahdanu2015\n", "c.yaml, line 1: there is no preset 'bahdanu2015'; did you mean 'bahdanau2015'?"),
        ("preset: [3]\n", "c.yaml, line 1: there is no preset '[3]'"),
        ("", "c.yaml: a configuration must be a list of `key: value` lines; got nothing."),
        ("# nothing\n", "c.yaml: a configuration must be a list of `key: value` lines; got nothing."),
        ("- a\n", "c.yaml: a configuration must be a list of `key: value` lines; got ['a']."),
        (b"a: 1\nb: \xe9\n", "c.yaml, line 2: text must be UTF-8"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert expected in refuse(tmp_path, text)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file; check the path"):
        load_config(file=tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="the file cannot be read: Is a directory; check"):
        load_config(file=tmp_path)


DECODER = "model:\n  decoder:\n    reader:\n      kind: before\n"  # lines 4 to 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DECODER + "      score:\n        kind: aditive\n", "line 9: there is no score named 'aditive'; did you mean"),
        (DECODER + "      score: aditive\n", "line 8: there is no score named 'aditive'; did you mean 'additive'?"),
        (DECODER + "      score:\n        kind: additive\n        sise: 3\n", "line 10: score additive has no option"),
        (
            DECODER + "      score:\n        kind: additive\n        size: x\n",
            "line 10: model.decoder.reader.score.size",
        ),
        ("search: beem\n", "line 4: there is no search named 'beem'; did you mean 'beam'?"),
        ("search:\n  kind: beam\n  wdith: 3\n", "line 6: search beam has no option 'wdith'; did you mean 'width'?"),
        ("train:\n  schedule: cosin\n", "line 5: there is no schedule named 'cosin'"),
        ("tokens:\n  source: {kind: bpe, size: big}\n", "line 5: tokens.source.size must be a valid integer"),
        ("tokens:\n  joint: word\n", "line 5: there is no tokenizer named 'word'; did you mean 'words'?"),
    ],
)
def test_a_mistake_in_a_part_is_named_with_file_and_line(tmp_path: Path, text: str, expected: str) -> None:
    assert f"c.yaml, {expected}" in refuse(tmp_path, START + text)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("train.updats=3", "train.updats=3: there is no key 'train.updats'; did you mean 'updates'?"),
        ("seed.x=3", "seed.x=3: seed must be a valid integer; got {'x': 3}."),
        ("seed=", "seed=: seed must be a valid integer; got None."),
        ('seed="a\n\nb"', "seed must be a valid integer; got 'a\\nb'."),
        ("model.decoder.reader.score=aditive", "model.decoder.reader.score=aditive: there is no score named 'aditive'"),
        ("model.encoder={kind: nope}", "model.encoder={kind: nope}: there is no encoder named 'nope'"),
        ("search={kind: beam, width: 0}", "search={kind: beam, width: 0}: search.width must be"),
        ("search.kind=beem", "search.kind=beem: there is no search named 'beem'"),
        ("preset=luong", "preset=luong: there is no preset 'luong'; did you mean 'luong2015'?"),
        ("seed", "a setting must be written key=value, such as train.updates=500; got 'seed'."),
        ("=3", "a setting must be written key=value"),
        ("train..updates=3", "a setting must be written key=value"),
        ("data.fields=[a", "the value of data.fields must be YAML; got '[a'; quote it."),
    ],
)
def test_a_mistake_in_a_setting_names_the_setting(tmp_path: Path, setting: str, expected: str) -> None:
    assert expected in refuse(tmp_path, START, setting)


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("train.learning_rate=1", "train.learning_rate", 1.0),
        ("train.learning_rate=1e-3", "train.learning_rate", 0.001),
        ("data.fields=[en, no]", "data.fields", ["en", "no"]),
        ("seed = 4", "seed", 4),
        ("data.valid=null", "data.valid", None),
        ("model.encoder.dropout=1e-1", "model.encoder.dropout", 0.1),
        ("model.encoder.size=64", "model.encoder.size", 64),
        ("model.decoder.cell=lstm", "model.decoder.cell", "lstm"),
        ("tokens.source.min_count=5", "tokens.source", {"kind": "characters", "min_count": 5}),
        ("model.decoder.reader.score.size=5", "model.decoder.reader.score", {"kind": "additive", "size": 5}),
        ("model.decoder.reader.kind=none", "model.decoder.reader", {"kind": "none"}),
        ("search={kind: sample}", "search", {"kind": "sample"}),
        ("search=greedy", "search", "greedy"),
    ],
)
def test_settings_lie_over_everything(tmp_path: Path, setting: str, path: str, value: Any) -> None:
    found: Any = load(tmp_path, START + "seed: 3\n", setting).config.model_dump()
    for name in path.split("."):
        found = found[name]
    assert found == value
    assert type(found) is type(value)


def test_layers_lie_over_each_other_in_order(tmp_path: Path) -> None:
    text = START + "train:\n  updates: 7\nmodel:\n  encoder: {size: 32}\n"
    config = load(tmp_path, text, "train.updates=8", "train.updates=9").config
    assert config.train.updates == 9
    preset, _ = read_preset("bahdanau2015")
    assert config.model.encoder == {**preset["model"]["encoder"], "size": 32}
    assert config.train.batch_tokens == preset["train"]["batch_tokens"]
    chosen = load_config(base={"preset": "cho2014", "data": {"train": "x"}, "seed": 5}, settings=["preset=luong2015"])
    assert chosen.config.model == load(tmp_path, "preset: luong2015\ndata: {train: x}\n").config.model
    assert chosen.config.seed == 5


def test_joint_tokens_and_separate_ones_replace_each_other(tmp_path: Path) -> None:
    joint = load(tmp_path, START + "tokens: {joint: bpe}\n").config.tokens
    assert (joint.source, joint.target, joint.joint) == (None, None, "bpe")
    both = load(tmp_path, START + "tokens: {joint: bpe}\n", "tokens={source: words, target: bpe}").config.tokens
    assert (both.source, both.target, both.joint) == ("words", "bpe", None)


def test_two_files_take_the_place_of_one_and_the_reverse(tmp_path: Path) -> None:
    two = load(tmp_path, START, "data.train={source: /a.en, target: /a.de}").config
    assert two.data.train == ParallelFiles(source="/a.en", target="/a.de")
    text = "preset: bahdanau2015\ndata: {train: {source: a, target: b}}\n"
    assert load(tmp_path, text, "data.train=/x.tsv").config.data.train == "/x.tsv"


def test_a_section_whose_keys_are_commented_out_says_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, START + "train:\n  # updates: 5\n").config == load(tmp_path, START).config


def test_paths_are_relative_to_where_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", "/home/me")
    text = "preset: bahdanau2015\ndata:\n  train: {source: a.en, target: sub/a.de}\n  test: /abs/t.tsv\n"
    data = load(tmp_path, text, "data.valid=v.tsv").config.data
    assert data.train == ParallelFiles(source=f"{tmp_path}/a.en", target=f"{tmp_path}/sub/a.de")
    assert data.valid == f"{tmp_path}/here/v.tsv"
    assert data.test == "/abs/t.tsv"
    train = load(tmp_path, text, "train.distillation.teachers=[runs/a, /b]").config.train
    assert train.distillation is not None
    assert train.distillation.teachers == [f"{tmp_path}/here/runs/a", "/b"]
    base = {"preset": "bahdanau2015", "data": {"train": "~/x.tsv"}}
    assert load_config(base=base).config.data.train == "/home/me/x.tsv"
    assert base["data"] == {"train": "~/x.tsv"}


def test_parts_that_are_built_with_wrong_sizes_lead_to_their_line(tmp_path: Path) -> None:
    loaded = load(tmp_path, START + "model:\n  encoder:\n    vocabulary: 3\n")
    encoder = part("encoder", loaded.config.model.encoder, path=("model", "encoder"))
    with pytest.raises(ConfigError, match=r"c.yaml, line 6: .*vocabulary follows from"), loaded.naming_places():
        encoder(vocabulary=5)


def test_errors_of_other_things_pass_as_they_are(tmp_path: Path) -> None:
    loaded = load(tmp_path, START)
    with pytest.raises(ConfigError, match=r"^as it is$"), loaded.naming_places():
        raise ConfigError("as it is")


def test_a_setting_is_a_tree_with_one_place() -> None:
    assert parse_setting("a.b=1e-3") == ({"a": {"b": 0.001}}, {("a", "b"): "a.b=1e-3"})


def test_a_configuration_cannot_be_changed(tmp_path: Path) -> None:
    config: Any = load(tmp_path, START).config
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 3
    assert isinstance(config, Config)


def test_a_colon_without_a_blank_is_named(tmp_path: Path) -> None:
    sentence = refuse(tmp_path, START, "tokens.source={kind:bpe,size:8}")
    assert "tokens.source={kind:bpe,size:8}: a colon must have a space behind it; got 'kind:bpe'" in sentence
    assert "write `kind: bpe`" in sentence


@pytest.mark.parametrize("settings", [("train=3", "train.workers=1"), ("train=[]", "train={workers: 1}")])
def test_what_is_no_section_is_not_forgotten(tmp_path: Path, settings: tuple[str, str]) -> None:
    assert f"{settings[0]}: train must be a section of keys (updates," in refuse(tmp_path, START, *settings)


def test_settings_of_a_python_call_have_the_values_that_yaml_would_have() -> None:
    given = ("a.b", {"x": (Path("/p"), 2, {3: Path("q")}), "y": [None, True, "no"]})
    tree, places = parse_setting(given)
    assert tree == {"a": {"b": {"x": ["/p", 2, {"3": "q"}], "y": [None, True, "no"]}}}
    assert list(places) == [("a", "b")]


def test_a_section_of_a_python_call_is_as_many_settings_as_it_has_keys() -> None:
    given = {"train": {"updates": 3, "schedule": {"warmup": 1}}, "model.encoder": {"size": 4}, "seed": 5, "search": {}}
    assert spread_settings(given) == [
        ("train.updates", 3),
        ("train.schedule", {"warmup": 1}),
        ("model.encoder", {"size": 4}),
        ("seed", 5),
        ("search", {}),
    ]


def test_presets_are_listed_by_what_they_read_and_do() -> None:
    captions = {"caption-transformer", "show-and-tell2015", "show-attend-tell2015", "show-attend-tell2015-hard"}
    captions |= {"vit-caption"}
    labels = {"frozen-cnn", "small-cnn", "vit2021"}
    assert set(preset_names(task="transduction", images=True)) == captions
    assert set(preset_names(task="classification", images=True)) == labels
    assert set(preset_names(images=True)) == captions | labels
    assert set(preset_names(images=False)) == set(preset_names()) - captions - labels
    texts = {"bigru-attention", "han2016", "transformer-classifier"}
    assert set(preset_names(task="classification", images=False)) == texts
    assert preset_names() == sorted(preset_names())
