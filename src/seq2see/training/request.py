"""A request for a training: a configuration with the reasons for it, a run folder, and data that was already read."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import seq2see
from seq2see.config.load import Loaded, load_config, read_preset
from seq2see.config.schema import Config, Init
from seq2see.config.settings import Setting, parse_setting
from seq2see.config.synonyms import names_epochs
from seq2see.config.write import write_config
from seq2see.core.errors import ConfigError, DataError
from seq2see.data.checks.data_doctor import Usable, read_usable
from seq2see.data.pairs import Origin
from seq2see.runs.folder import RunFolder
from seq2see.training.epochs import refuse_epochs
from seq2see.training.fine_tuning import continue_run, decide_fine_tuning, find_usual_fields, refuse_other_preset
from seq2see.training.plan import Decision, decide
from seq2see.training.pretrained import inherit_tokens, read_pretrained

PARTS = ("run", "encoder", "decoder")  # what init may take from another run


@dataclass(frozen=True)
class TrainingRequest:
    """What to train, on what, and where.

    Args:
        loaded: the checked configuration, and where each of its keys was written.
        folder: the run folder.
        near: the folder in which code of the user's own is looked for.
        remarks: why a value was chosen, by key of the configuration.
        read: data that was read already, by origin, so that it is not read twice.
        wrote_data: whether Python objects were written into the run folder as its data.
        resumes: whether the run in the folder goes on until the limits that are configured, also if they are lower.
    """

    loaded: Loaded
    folder: RunFolder
    near: Path
    remarks: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[Origin, Usable] = field(default_factory=dict)
    wrote_data: bool = False
    resumes: bool = False


def request_config(
    file: Path, *, folder: Path, held_out: Mapping[str, Origin], settings: Sequence[Setting]
) -> TrainingRequest:
    """Return the request for a training that a configuration file describes.

    Args:
        file: the YAML file.
        folder: the run folder.
        held_out: files for valid and test that take the place of those in the file.
        settings: keys of the configuration and their values, which take precedence over the file.
    """
    given: list[Setting] = [(f"data.{name}", _to_split(origin)) for name, origin in held_out.items()]
    loaded = load_config(file=file, settings=[*given, *settings])
    return TrainingRequest(loaded, RunFolder(folder), file.absolute().parent)


def request_data(splits: Mapping[str, Origin], *, folder: Path, settings: Sequence[Setting]) -> TrainingRequest:
    """Return the request for a training on data; what the settings leave open is decided from the data.

    With init.run among the settings, all but the data is as in that run.

    Args:
        splits: the files of train and, if there are any, of valid and test.
        folder: the run folder.
        settings: keys of the configuration and their values.
    """
    early = read_early(settings)
    origin = _with_fields(splits["train"], early.get("data.fields"))
    origin = replace(origin, encoding=_read_word(early, "data.encoding"))
    init = read_init(early)
    usual = find_usual_fields(Path(init.run), folder) if init.run is not None else None
    origin, usable = _read(origin, usual)
    if origin.fields is not None and "data.fields" not in early:
        settings = [("data.fields", list(origin.fields)), *settings]
    if init.run is not None:
        start = Path(init.run)
        refuse_other_preset(start, folder, early)
        base, remarks = continue_run(start, folder), {"model": f"as in {init.run}"}
        tuned, why = decide_fine_tuning(start, folder, early)
        base["train"] = {**_read_section(base, "train"), **tuned}
    else:
        why = ""
        decision = decide(usable[0], preset=_read_word(early, "preset"), task=_read_word(early, "task"))
        decision = adapt_tokens(decision, early, init, folder)
        base, remarks = decision.base, dict(decision.remarks)
    files = {name: _to_split(each) for name, each in splits.items()}
    base |= {"data": {**_read_section(base, "data"), **files}}
    if any(map(names_epochs, early)):
        refuse_epochs(early, usable[0], load_config(base=base).config)
    loaded = load_config(base=base, settings=settings)
    changed = {name.partition(".")[0] for name in early}
    kept = {key: text for key, text in remarks.items() if key not in changed}
    kept |= {"train": why} if why else {}
    return TrainingRequest(loaded, RunFolder(folder), origin.file.parent, kept, {origin: usable})


def request_resume(folder: RunFolder, *, updates: int | None, patience: int | None) -> TrainingRequest:
    """Return the request to go on with a run, perhaps until new limits.

    Args:
        folder: the folder of the run.
        updates: the total number of updates; None keeps the configured number.
        patience: validations without a better one before training stops, 0 for never; None keeps the configured number.
    """
    limits: list[Setting] = [("train.updates", updates)] if updates is not None else []
    limits += [("train.patience", patience)] if patience is not None else []
    loaded = load_config(file=folder.config_file, settings=limits)
    return TrainingRequest(loaded, folder, folder.path, resumes=True)


def write_run_config(config: Config, folder: RunFolder, remarks: Mapping[str, str]) -> str:
    """Return the text of a run's config.yaml; data inside the folder is named from there, so that the run can be moved.

    Args:
        config: the configuration of the run.
        folder: the run folder.
        remarks: why a value was chosen, by key; they become comments.
    """
    inside = folder.data_folder.absolute()
    named = {name: getattr(config.data, name) for name in ("train", "valid", "test")}
    moved = {
        name: f"{inside.name}/{Path(split).name}"
        for name, split in named.items()
        if isinstance(split, str) and Path(split).parent == inside
    }
    portable = config.model_copy(update={"data": config.data.model_copy(update=moved)})
    heading = f"written by seq2see {seq2see.__version__}; to change it, edit a copy: seq2see train COPY.yaml --out DIR"
    return write_config(portable, heading=heading, remarks=remarks)


def _with_fields(origin: Origin, names: object) -> Origin:
    """Return the origin with the columns that a setting names; a wrong setting is refused later, with all settings."""
    if isinstance(names, list) and len(names) == 2:
        return replace(origin, fields=(str(names[0]), str(names[1])))
    return origin


def _read(origin: Origin, usual: tuple[str, str] | None) -> tuple[Origin, Usable]:
    """Read training data by the columns of the run it starts from, if none are named and the file has them."""
    if origin.fields is None and origin.target_file is None and usual is not None:
        named = replace(origin, fields=usual)
        with suppress(DataError):
            return named, read_usable(named)
    return origin, read_usable(origin)


def _to_split(origin: Origin) -> str | dict[str, str]:
    """Return an origin as a configuration names it."""
    if origin.target_file is None:
        return str(origin.file.absolute())
    return {"source": str(origin.file.absolute()), "target": str(origin.target_file.absolute())}


def adapt_tokens(decision: Decision, early: Mapping[str, object], init: Init, folder: Path) -> Decision:
    """Return the decision with the tokens that settings, or the parts of other runs, ask for.

    Args:
        decision: what was decided from the data.
        early: the settings by dotted key.
        init: the other runs to start from.
        folder: the run folder.
    """
    written = read_preset(decision.preset)[0]
    if written.get("task") != "classification" and asks_of_tokens(early, written["tokens"]):
        decision = replace(decision, tokens=None)
    if init == Init():
        return decision
    runs = dict.fromkeys(path for path in (init.encoder, init.decoder) if path is not None)
    remarks = {**decision.remarks, "tokens": f"tokens as in {' and '.join(runs)}"}
    return replace(decision, remarks=remarks, tokens=decide_tokens(decision.tokens or written["tokens"], init, folder))


def _read_word(early: Mapping[str, object], key: str) -> str | None:
    """Return a setting that is a word, as text; a wrong setting is refused later, with all settings."""
    value = early.get(key)
    return None if value is None else str(value)


def _read_section(base: Mapping[str, object], name: str) -> Mapping[str, object]:
    section = base.get(name)
    return section if isinstance(section, Mapping) else {}


def decide_tokens(tokens: Mapping[str, object], init: Init, out: Path) -> Mapping[str, object]:
    """Return the tokens of the runs that parts are taken from; a run that has begun has them in its own configuration.

    Args:
        tokens: section `tokens` as decided without those runs.
        init: the other runs to start from.
        out: the run folder.
    """
    folder = RunFolder(out)
    if folder.config_file.is_file():
        return folder.read_config().tokens.model_dump(exclude_none=True)
    return inherit_tokens(tokens, read_pretrained(init))


def asks_of_tokens(early: Mapping[str, object], written: Mapping[str, object]) -> bool:
    """Return whether a setting changes an option that a preset gives its tokens, so that the preset's tokens are kept.

    Args:
        early: the settings by dotted key.
        written: section `tokens` of the preset.
    """
    options = {f"tokens.{side}.{name}" for side, spec in written.items() if isinstance(spec, Mapping) for name in spec}
    return bool(early.keys() & options - {f"tokens.{side}.kind" for side in written})


def read_early(settings: Sequence[Setting]) -> dict[str, object]:
    """Return the settings that matter before there is a configuration, by dotted key.

    Args:
        settings: texts `key=value`, or pairs of a dotted key and a value.
    """
    early: dict[str, object] = {}
    for setting in settings:
        tree, places = parse_setting(setting)
        (path,) = places
        for name in path:
            tree = tree[name]
        early[".".join(path)] = tree
    return early


def read_init(early: Mapping[str, object]) -> Init:
    """Return the other runs that settings name; a path that is no text is refused later, with all settings.

    Args:
        early: the settings by dotted key.

    Raises:
        ConfigError: both a whole run and parts are named.
    """
    named = early.get("init")
    given = dict(named) if isinstance(named, Mapping) else {}
    given |= {part: early[f"init.{part}"] for part in PARTS if f"init.{part}" in early}
    paths = {part: str(Path(given[part]).expanduser()) for part in PARTS if isinstance(given.get(part), str)}
    if "run" in paths and len(paths) > 1:
        raise ConfigError("init must have run, or encoder and decoder, not both: a run has all parts.")
    return Init(run=paths.get("run"), encoder=paths.get("encoder"), decoder=paths.get("decoder"))
