"""Checks of the sources of a request: against what a run reads, and against the bounds."""

from collections.abc import Collection, Sequence

from seq2see.data.modalities.modality import Name
from seq2see.data.sentence_splitter import join_sentences
from seq2see.serve.requests import Bounds, PredictRequest, RequestError

SOURCES: dict[Name, Collection[str]] = {
    "text": ("text", "texts"),
    "image": ("image",),
    "document": ("document", "text", "texts"),
}


def check_kind(request: PredictRequest, image: bytes | None, name: str, kind: Name) -> None:
    """Refuse all but one source, of a kind that the run reads."""
    given = [field for field in ("text", "texts", "document", "image") if getattr(request, field) is not None]
    given += ["image"] if image is not None else []
    if len(given) != 1 or given[0] not in SOURCES[kind]:
        wanted, got = " or ".join(SOURCES[kind]), " and ".join(given) or "nothing"
        status = 409 if len(given) == 1 else 422  # a good request, but not to this run
        raise RequestError(f"the run {name} reads {kind}: give {wanted}; got {got}.", status=status)


def read_texts(request: PredictRequest, bounds: Bounds) -> Sequence[str]:
    """The texts or documents of a request."""
    if isinstance(request.document, tuple):
        return [_join_document(request.document, bounds)]
    sources = request.texts if request.texts is not None else (request.text or request.document or "",)
    if not 1 <= len(sources) <= bounds.texts:
        raise RequestError(f"there must be 1 to {bounds.texts} texts; got {len(sources)}.")
    for place, text in enumerate(sources, 1):
        _check_length(text, bounds, f" (text {place})" if len(sources) > 1 else "")
    return sources


def check_targets(request: PredictRequest, bounds: Bounds) -> None:
    """Refuse a given output, or a prefix, that is longer than a source may be."""
    prefixes = [request.prefix] if isinstance(request.prefix, str) else request.prefix or ()
    for text in prefixes:
        _check_length(text, bounds, " in prefix")
    _check_length(getattr(request, "target", None) or "", bounds, " in target")
    if len(request.prefix_ids or ()) > bounds.length:
        raise RequestError(f"prefix_ids may have {bounds.length:,} tokens; got {len(request.prefix_ids or ()):,}.")


def _join_document(sentences: Sequence[str], bounds: Bounds) -> str:
    """A document whose sentences are cut already; together they are bounded as a text is."""
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
