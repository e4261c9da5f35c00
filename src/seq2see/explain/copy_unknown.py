"""Unknown words of an output, replaced by the source words with most attention (Luong et al. 2015, arXiv:1410.8206)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from unicodedata import category

import numpy as np
from jaxtyping import Float32

from seq2see.core.errors import SearchError
from seq2see.core.special_tokens import UNKNOWN
from seq2see.core.words import UNSPACED_LETTER
from seq2see.data.tokenizers import Tokenizer
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.tasks.task import Output


def replace_unknown(
    output: Output,
    trace: AttentionTrace,
    target: Tokenizer,
    dictionary: Mapping[str, str] | None = None,
    *,
    ban: Sequence[str] = (),
) -> Output:
    """Return the output with a source word, or its entry in the dictionary, for each unknown mark; its ids stay.

    Args:
        output: the output with unknown marks.
        trace: the attention behind it.
        target: the tokenizer of the target.
        dictionary: from source words to what is written for them; a word without an entry is copied. None is empty.
        ban: words that must not be written; an unknown mark that would become one of them is left out.
    """
    if trace.grid is not None:
        raise SearchError("leave out replace_unknown: an image has no words to put there.")
    weights = average_maps(trace)
    rows = [row for row, number in enumerate(output.ids) if number == UNKNOWN]
    words = [find_word(trace, weights[row], dictionary or {}) for row in rows]
    banned = {form for word in ban for form in target.spell(word)}
    words = ["" if banned and _is_banned(word.strip(), banned, target) else word for word in words]
    tokens = target.tokens(output.ids, unknown=words, confidences=[token.confidence for token in output.tokens])
    return replace(output, text=target.decode(output.ids, unknown=words), tokens=tokens)


def average_maps(trace: AttentionTrace) -> Float32[np.ndarray, "t s"]:
    """Return the cross-attention, averaged over heads and over maps.

    Args:
        trace: the attention behind an output.

    Raises:
        SearchError: if no map attends from the output to the source.
    """
    means = [one.weights.mean(axis=0) for one in trace.maps if one.is_cross_attention]
    if not means:
        raise SearchError("leave out replace_unknown: this model attends to no word of its source while it writes.")
    return np.asarray(np.mean(means, axis=0), dtype=np.float32)


def find_word(trace: AttentionTrace, weights: Float32[np.ndarray, " s"], dictionary: Mapping[str, str]) -> str:
    """Return the word around the source token with the most attention, with a space before it if the source has one.

    In scripts without spaces between words, that is the token itself.

    Args:
        trace: the attention behind an output.
        weights: the attention of one target token to the source tokens, [s].
        dictionary: from source words to what is returned for them; a word without an entry is returned as it is.
    """
    text, tokens = trace.source, trace.source_tokens
    real = [place for place, token in enumerate(tokens) if text[token.start : token.end].strip()]
    token = tokens[max(real, key=lambda place: weights[place])]
    start, end = token.start, token.end
    if _in_word(text[start]):
        while start > 0 and _in_word(text[start - 1]):
            start -= 1
    if _in_word(text[end - 1]):
        while end < len(text) and _in_word(text[end]):
            end += 1
    word = text[start:end]
    glued = start > 0 and not text[start - 1].isspace()
    return ("" if glued else " ") + dictionary.get(word, word)


def _is_banned(text: str, banned: Collection[str], target: Tokenizer) -> bool:
    """Return whether a text is or has a banned word, in any spelling; an entry of a dictionary may be several words."""
    return any(not target.spell(word).isdisjoint(banned) for word in (text, *text.split()))


def _in_word(letter: str) -> bool:
    inside = letter.isalnum() or letter == "_" or category(letter).startswith("M")
    return inside and UNSPACED_LETTER.fullmatch(letter) is None
