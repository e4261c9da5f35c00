"""What the page says and shows of a run: what it does, and which controls have an effect on it."""

from pathlib import Path

from babel import Locale

from seq2see.config.schema import Config, ParallelFiles
from seq2see.explain.attention_agreement import NO_ATTENTION
from seq2see.runs.run import Run
from seq2see.serve.response_schemas import Action, ModelInfo

LANGUAGES = Locale("en").languages  # English names by code
NAMES = frozenset(name.casefold() for name in LANGUAGES.values())


def describe_run(name: str, run: Run) -> ModelInfo:
    """Return what requests and pages need to know of a run.

    Args:
        name: the name by which requests choose it.
        run: the run.
    """
    return ModelInfo(
        name=name,
        preset=run.config.preset,
        source=run.task.source.name,
        writes="text" if run.task.writes_text else "label",
        action=name_action(run),
        attention=has_attention(run),
        search=run.config.search if isinstance(run.config.search, str) else dict(run.config.search),
        parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        agreement=run.agreement.to_dict(),
    )


def name_action(run: Run) -> Action:
    """Return what the run does, for a button: it translates if its data says that the sides are two languages.

    Args:
        run: the run.
    """
    if not run.task.writes_text:
        return "classify"
    if run.task.source.tokenizer is None:  # it reads images
        return "caption"
    source, target = _name_sides(run.config)
    return "translate" if source != target and _is_language(source) and _is_language(target) else "predict"


def has_attention(run: Run) -> bool:
    """Return whether outputs attend to the source, so that options and views of that attention mean something.

    Args:
        run: the run; what was measured of it counts, and before that whether it has a module with attention weights.
    """
    return run.agreement != NO_ATTENTION and any(hasattr(module, "normalise") for module in run.model.modules())


def _name_sides(config: Config) -> tuple[str, str]:
    """Return what the data calls its sides: the columns, or the endings of two files."""
    if config.data.fields is not None:
        return config.data.fields[0], config.data.fields[1]
    train = config.data.train
    return (_find_ending(train.source), _find_ending(train.target)) if isinstance(train, ParallelFiles) else ("", "")


def _find_ending(file: str) -> str:
    """Return the ending of a file that names a language, as in train.de.gz; else the last one."""
    endings = [ending.removeprefix(".") for ending in Path(file).suffixes] or [""]
    return next((ending for ending in endings if _is_language(ending)), endings[-1])


def _is_language(word: str) -> bool:
    """Return whether a word is the code of a language, as in `de`, `pt-BR` or `pes`, or its English name."""
    code = word.replace("_", "-").split("-")[0].lower()
    return code in LANGUAGES or word.strip().casefold() in NAMES
