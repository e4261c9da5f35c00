"""Sources as clients send them: checked against what a run reads, and against our bounds."""

from collections.abc import Collection, Sequence

from seq2see.data.sentences import join_sentences
from seq2see.serve.schema import Bounds, Question, RefusalError
from seq2see.serve.shelf import Kind

SOURCES: dict[Kind, Collection[str]] = {
    "text": ("text", "texts"),
    "image": ("image",),
    "document": ("document", "text", "texts"),
}


def check_kind(question: Question, picture: bytes | None, name: str, kind: Kind) -> None:
    """Refuse all but one source, of a kind that the run reads."""
    given = [field for field in ("text", "texts", "document", "image") if getattr(question, field) is not None]
    given += ["image"] if picture is not None else []
    if len(given) != 1 or given[0] not in SOURCES[kind]:
        wanted, got = " or ".join(SOURCES[kind]), " and ".join(given) or "nothing"
        status = 409 if len(given) == 1 else 422  # a good request, but not to this run
        raise RefusalError(f"the run {name} reads {kind}: give {wanted}; got {got}.", status=status)


def read_texts(question: Question, bounds: Bounds) -> Sequence[str]:
    """The texts or documents of a question."""
    if isinstance(question.document, tuple):
        return [_join_document(question.document, bounds)]
    sources = question.texts if question.texts is not None else (question.text or question.document or "",)
    if not 1 <= len(sources) <= bounds.texts:
        raise RefusalError(f"there must be 1 to {bounds.texts} texts; got {len(sources)}.")
    for place, text in enumerate(sources, 1):
        _check_length(text, bounds, f" (text {place})" if len(sources) > 1 else "")
    return sources


def check_beginnings(question: Question, bounds: Bounds) -> None:
    """Outputs that are given, whole or their first tokens, are bounded as sources are."""
    prefixes = [question.prefix] if isinstance(question.prefix, str) else question.prefix or ()
    for text in prefixes:
        _check_length(text, bounds, " in prefix")
    _check_length(getattr(question, "target", None) or "", bounds, " in target")
    if len(question.prefix_ids or ()) > bounds.length:
        raise RefusalError(f"prefix_ids may have {bounds.length:,} tokens; got {len(question.prefix_ids or ()):,}.")


def _join_document(sentences: Sequence[str], bounds: Bounds) -> str:
    """A document whose sentences are cut already; together they are bounded as a text is."""
    for place, sentence in enumerate(sentences, 1):
        _check_length(sentence, bounds, f" (sentence {place})")
    document = join_sentences(sentences)
    if len(document) > bounds.text:
        raise RefusalError(
            f"the sentences of a document, and one break for each, may have {bounds.text:,} characters; got "
            f"{len(document):,}.",
            status=409,
        )
    return document


def _check_length(text: str, bounds: Bounds, which: str) -> None:
    if len(text) > bounds.text:
        raise RefusalError(f"a text may have {bounds.text:,} characters; got {len(text):,}{which}.")
