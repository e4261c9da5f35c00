"""How often a training goes through its data (epochs), and how many updates that takes."""

from collections.abc import Mapping

from seq2see.config.schema import Config
from seq2see.config.synonyms import names_epochs
from seq2see.core.errors import ConfigError
from seq2see.core.plural import say_count
from seq2see.core.registry import shorten
from seq2see.core.words import has_spaces
from seq2see.data.checks.infer import infer_modality, spread
from seq2see.data.pairs import Pairs
from seq2see.training.token_plan import plan_tokens

MAX_COUNTED_WORDS = 3_000  # of a document


def count_epochs(updates: int, tokens: float, batch: int) -> float:
    """Return how often updates go through the data; one goes through it once at most.

    Args:
        updates: the number of updates.
        tokens: all tokens of the data.
        batch: the tokens of an update.
    """
    return updates / max(tokens / batch, 1)


def count_positions(pairs: Pairs, *, labels: bool) -> float:
    """Return how many tokens the data has, roughly, where sources are long or are images.

    Args:
        pairs: the training data.
        labels: whether labels are chosen, so that the sources are counted and not the targets.
    """
    positions = {"text": pairs.source, "images": [""] * len(pairs)}  # an image is one position
    texts = positions[infer_modality(pairs)] if labels else pairs.target
    count = (lambda text: len(text.split())) if has_spaces(spread(texts)) else len
    return float(sum(min(count(text), MAX_COUNTED_WORDS) + 1 for text in texts))


def refuse_epochs(early: Mapping[str, object], pairs: Pairs, config: Config) -> None:
    """Refuse a number of epochs, and say how many updates it would be.

    Args:
        early: the settings of the user by dotted key.
        pairs: the training data.
        config: the configuration without these settings.

    Raises:
        ConfigError: a setting is a number of epochs by the words of other toolkits.
    """
    for key in filter(names_epochs, early):
        batch = early.get("train.batch_tokens", config.train.batch_tokens)
        if not isinstance(batch, int) or batch < 1:
            return  # refused later
        labels, sources = config.model.decoder is None, infer_modality(pairs)
        plan = plan_tokens(pairs.source, pairs.target) if sources == "text" and not labels else None
        tokens = count_positions(pairs, labels=labels) if plan is None else plan.tokens
        one = max(tokens / batch, 1)
        often = early[key]
        updates = round(often * one) if isinstance(often, int | float) and often > 0 else round(one)
        raise ConfigError(
            f"{key}={shorten(often)}: the length of a training is set in updates, and about "
            f"{say_count(round(one), 'update')} of {batch:,} tokens {'goes' if round(one) == 1 else 'go'} through this "
            f"data once; write train.updates={max(updates, 1)}."
        )
