"""Answers: predictions and explanations as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from seq2see.core import change
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.word import find_words
from seq2see.data.sentences import show_sentences
from seq2see.data.tokenise import Tokenizer
from seq2see.inspect.alignment import choose_units, default_choice, merge_trace
from seq2see.inspect.alternative import list_alternatives, show_piece
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.document import MOST, DocumentTrace
from seq2see.inspect.explain import explain, show_bare
from seq2see.inspect.replay import give_output, replay
from seq2see.inspect.worth import list_parts, measure_worth
from seq2see.run import Decoding, Prediction, Run
from seq2see.search.watch import History
from seq2see.serve.batcher import Job, count_tokens, predict
from seq2see.serve.schema import Explanation, RefusalError
from seq2see.tasks.demands import Prefix
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

Check = Callable[[Sequence[Sequence[int]]], None]  # refuses outputs whose attention is too much to show

# source tokens of all variants that leave something out: some seconds, for labels are read ten times as fast
MOST_READ, MOST_JUDGED = 50_000, 500_000


class Recorder(History):
    """Keeps the history of a search, and calls it off when nobody waits for it."""

    def __init__(self, job: Job, *, records: bool) -> None:
        super().__init__()
        self.job, self.records = job, records

    def step(self, sources: Sequence[int], contenders: Any) -> set[int]:
        return set(sources) if self.job.gone else set()


def describe(prediction: Prediction, attention: str = "none", *, source: bool = True) -> dict[str, Any]:
    """Everything about a prediction; `source` is left out where it is a file of ours."""
    row: dict[str, Any] = {
        "source": show_sentences(prediction.source) if source else None,
        "text": prediction.text,
        "score": prediction.score,
        "finished": prediction.finished,
        "tokens": [asdict(token) for token in prediction.tokens],
        "ids": list(prediction.ids),
        "alternatives": [describe(other, attention, source=source) for other in prediction.alternatives],
    }
    if prediction.probabilities is not None:
        row["probabilities"] = dict(prediction.probabilities)
    if attention != "none":
        found = look(prediction, words=attention == "words")
        row["attention"] = found if source or found is None else {**found, "source": None}
    return row


def look(prediction: Prediction, *, words: bool) -> dict[str, Any] | None:
    """The attention of a prediction: all maps, or one number for each pair of words; None if there is none.

    Labels, pictures and documents have no pairs of words: there it is all.
    """
    if not prediction.ids:
        return None
    text = isinstance(prediction.run.task.source, Tokenizer) and prediction.probabilities is None
    try:
        return weigh_words(prediction) if words and text else prediction.attention.to_dict()
    except AttentionError:
        return None


def weigh_words(prediction: Prediction) -> dict[str, Any]:
    """The weights between words, as alignments are made of them, and which map they come from."""
    _, trace = next(replay(prediction.run.task, prediction.run.model, [give_output(prediction)]))
    choice, units = default_choice(trace), choose_units([trace.source], [trace.target])
    weights = merge_trace(trace, [choice], units)[0]
    return {
        "map": str(choice),
        "source_words": find_words(trace.source, units[0]),
        "target_words": find_words(trace.target, units[1]),
        "weights": weights[:, :-1].tolist(),  # the last column is what no word got
    }


def explain_source(
    run: Run,
    how: Decoding,
    source: str,
    prefix: Prefix,
    question: Explanation,
    job: Job,
    check: Check,
) -> dict[str, Any]:
    """What the model writes and looks at, under the changes that are asked for."""
    changes = [change.Change(c.map, c.heads, c.weights, c.temperature) for c in question.changed]
    watch = Recorder(job, records=question.history)
    with change.changing(run.model, changes):
        if question.target is None:
            found: Output = predict(run, how, [replace(job, text=source, prefix=prefix)], watch)[0]
            check([found.ids])
        else:
            found = _give_target(run, source, question.target, check)
        trace = _look_inside(run, found)
        if question.leave_out and found.ids:
            trace = _leave_out(run, trace, found)
        writes = isinstance(run.task, Transduction) and found.ids and question.choices
        choices = list_alternatives(run.task, run.model, source, found.ids, count=question.choices) if writes else None
    labels = {} if found.probabilities is None else {"label": found.text, "probabilities": dict(found.probabilities)}
    return {
        "falls": [] if question.leave_out and isinstance(trace, AttentionTrace) else None,  # for those who look
        **trace.to_dict(),
        **labels,
        "target": found.text,
        "score": found.score if question.target is None else None,
        "finished": found.finished,
        "ids": list(found.ids),
        "choices": choices and [[asdict(one) for one in row] for row in choices],
        "history": draw_tree(run, watch, found.ids) if question.history else None,
    }


def _look_inside(run: Run, found: Output) -> AttentionTrace | DocumentTrace:
    """What is to be seen of a prediction; no maps for a model without attention, or a blank source."""
    try:
        return (
            found.attention if isinstance(found, Prediction) else explain(run.task, run.model, found.source, found.ids)
        )
    except Seq2SeeError:
        return show_bare(run.task, found)


def _give_target(run: Run, source: str, target: str, check: Check) -> Output:
    if not isinstance(run.task, Transduction):
        raise RefusalError("this run chooses labels; leave out target.", status=409)
    unknown = run.task.target.unknown(target)
    if unknown:
        raise RefusalError(f"target must have known tokens only; got {unknown[0]!r}; change it.", status=409)
    ids = run.task.target.encode(target).ids
    check([ids])
    return Output(run.task.target.decode(ids), 0.0, run.task.target.tokens(ids), tuple(ids), source)


def _leave_out(run: Run, trace: AttentionTrace | DocumentTrace, found: Output) -> AttentionTrace | DocumentTrace:
    """The trace with what becomes of the output without each part of its source; too many of them are refused."""
    most = MOST_READ if isinstance(run.task, Transduction) else MOST_JUDGED
    reads = _count_reads(run, trace, found.source)
    if reads > most:
        sentence = f"leave_out reads up to {most:,} tokens; got {reads:,}; shorten the source."
        raise RefusalError(sentence, status=409)
    return measure_worth(run.task, run.model, trace, found)


def _count_reads(run: Run, trace: AttentionTrace | DocumentTrace, source: str) -> int:
    """The tokens of all variants of a source; a picture has as few as it has regions."""
    if "picture_size" in run.task.source.sizes:
        return 0
    if isinstance(trace, DocumentTrace):
        parts = len(trace.sentences) + min(sum(len(sentence.words) for sentence in trace.sentences), MOST)
    else:
        parts = len(list_parts(run.task, source))
    return parts * count_tokens(run, source)


def draw_tree(run: Run, history: History, ids: Sequence[int]) -> dict[str, Any] | None:
    """The tree of a beam: each node with its parent, its text and whether it was kept; outputs with their score."""
    nodes = history.nodes.get(0, [])
    if not nodes:
        return None
    before = [None if node.parent < 0 else nodes[node.parent].token for node in nodes]
    ends = history.ends.get(0, {})
    best = next((place for place, one in ends.items() if one.tokens == tuple(ids)), None)
    return {
        "nodes": [
            {
                "parent": None if node.parent < 0 else node.parent,
                "id": node.token,
                "text": show_piece(run.task.target, last, node.token),
                "logprob": node.logprob,
                "total": node.total,
                "kept": node.kept,
                "score": ends[place].score if place in ends else None,
            }
            for place, (node, last) in enumerate(zip(nodes, before, strict=True))
        ],
        "best": best,
    }
