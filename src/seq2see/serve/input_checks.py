"""Checks of the sources, prefixes and target of a request: against what a run reads, and against the bounds."""

from collections.abc import Collection, Sequence

from seq2see.data.modalities.modality import Name
from seq2see.data.sentence_splitter import join_sentences
from seq2see.serve.bounds import Bounds
from seq2see.serve.request_error import RequestError
from seq2see.serve.requests import PredictRequest
from seq2see.tasks.constraints import Prefix

SOURCES: dict[Name, Collection[str]] = {
    "text": ("text", "texts"),
    "image": ("image",),
    "document": ("document", "text", "texts"),
}


def check_kind(request: PredictRequest, image: bytes | None, name: str, kind: Name) -> None:
    """Refuse a request unless it has exactly one field with a source, of a kind that the run reads.

    Args:
        request: the body of the request.
        image: the bytes of an image that came in a form; None for a JSON body.
        name: the name of the run, for the message.
        kind: what the run reads.

    Raises:
        RequestError: with status 422 without a source or with several, and 409 if the run reads another kind.
    """
    given = [field for field in ("text", "texts", "document", "image") if getattr(request, field) is not None]
    given += ["image"] if image is not None else []
    if len(given) != 1 or given[0] not in SOURCES[kind]:
        wanted, got = " or ".join(SOURCES[kind]), " and ".join(given) or "nothing"
        status = 409 if len(given) == 1 else 422  # a good request, but not to this run
        raise RequestError(f"the run {name} reads {kind}: give {wanted}; got {got}.", status=status)


def read_texts(request: PredictRequest, bounds: Bounds) -> Sequence[str]:
    """Return the texts or documents of a request.

    Args:
        request: the body of a request with text, texts or document; sentences of a document are joined.
        bounds: the most characters of a text, and the most texts.

    Raises:
        RequestError: there are too many texts, or one is too long.
    """
    if isinstance(request.document, tuple):
        return [_join_document(request.document, bounds)]
    sources = request.texts if request.texts is not None else (request.text or request.document or "",)
    if not 1 <= len(sources) <= bounds.texts:
        raise RequestError(f"there must be 1 to {bounds.texts} texts; got {len(sources)}.")
    for place, text in enumerate(sources, 1):
        _check_length(text, bounds, f" (text {place})" if len(sources) > 1 else "")
    return sources


def check_targets(request: PredictRequest, bounds: Bounds) -> None:
    """Refuse a target or a prefix that is longer than a source may be, and too many prefix_ids.

    Args:
        request: the body of the request.
        bounds: the most characters of a text, and the most tokens of an output.

    Raises:
        RequestError: one of them is too long.
    """
    prefixes = [request.prefix] if isinstance(request.prefix, str) else request.prefix or ()
    for text in prefixes:
        _check_length(text, bounds, " in prefix")
    _check_length(getattr(request, "target", None) or "", bounds, " in target")
    if len(request.prefix_ids or ()) > bounds.length:
        raise RequestError(f"prefix_ids may have {bounds.length:,} tokens; got {len(request.prefix_ids or ()):,}.")


def list_prefixes(request: PredictRequest, count: int) -> Sequence[Prefix]:
    """Return a prefix for each source, as text or as ids of tokens; an empty text if there is none.

    Args:
        request: the body of the request.
        count: the number of sources.

    Raises:
        RequestError: the prefixes do not fit the number of sources, or prefix and prefix_ids are both given.
    """
    if request.prefix_ids is not None:
        if count != 1 or request.prefix is not None:
            raise RequestError("prefix_ids goes with one source, and without prefix.", status=409)
        return [request.prefix_ids]
    if request.prefix is None or isinstance(request.prefix, str):
        return [request.prefix or ""] * count
    if len(request.prefix) != count:
        got = len(request.prefix)
        sentence = f"there must be one prefix for all texts or one for each; got {got} for {count} texts."
        raise RequestError(sentence, status=409)
    return request.prefix


def _join_document(sentences: Sequence[str], bounds: Bounds) -> str:
    """Join the sentences of a document; together they may have as many characters as a text."""
    if len(sentences) > bounds.sentences:
        raise RequestError(f"a document may have {bounds.sentences:,} sentences; got {len(sentences):,}.")
    for place, sentence in enumerate(sentences, 1):
        _check_length(sentence, bounds, f" (sentence {place})")
    document = join_sentences(sentences)
    if len(document) > bounds.text:
        raise RequestError(
            f"the sentences of a document, and one break for each, may have {bounds.text:,} characters; got "
            f"{len(document):,}.",
            status=409,
        )
    return document


def _check_length(text: str, bounds: Bounds, which: str) -> None:
    if len(text) > bounds.text:
        raise RequestError(f"a text may have {bounds.text:,} characters; got {len(text):,}{which}.")
