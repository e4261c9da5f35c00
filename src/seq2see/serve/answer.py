"""Answers: predictions and explanations as JSON."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from seq2see.core import change
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.word import choose_unit, find_words
from seq2see.data.tokenise import Tokenizer
from seq2see.inspect.alignment import choose_units, default_choice, merge_trace
from seq2see.inspect.alternative import list_alternatives, show_piece
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.explain import explain
from seq2see.inspect.faithfulness import leave_one_out
from seq2see.inspect.replay import give_output, replay
from seq2see.run import Decoding, Prediction, Run
from seq2see.search.watch import History
from seq2see.serve.batcher import Job, predict
from seq2see.serve.schema import Explanation, RefusalError
from seq2see.tasks.classification import Classification
from seq2see.tasks.demands import Prefix
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

Check = Callable[[Sequence[Sequence[int]]], None]  # refuses outputs whose attention is too much to show

MOST_READ = 50_000  # source tokens of all variants that leave something out


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
        "source": prediction.source if source else None,
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
            found = predict(run, how, [replace(job, text=source, prefix=prefix)], watch)[0]
            check([found.ids])
            payload, ids = _explain_output(found, leave_out=question.leave_out), found.ids
        else:
            payload, ids = _explain_target(run, source, question.target, check)
        writes = isinstance(run.task, Transduction) and ids and question.choices
        choices = list_alternatives(run.task, run.model, source, ids, count=question.choices) if writes else None
        falls = _leave_out(run, source, ids) if question.leave_out and "sentences" not in payload else None
    return {
        **payload,
        "ids": list(ids),
        "choices": choices and [[asdict(one) for one in row] for row in choices],
        "history": draw_tree(run, watch, ids) if question.history else None,
        "falls": falls,
    }


def _leave_out(run: Run, source: str, ids: Sequence[int]) -> list[dict[str, Any]]:
    """How much the log-probability of an output falls without each word of its source."""
    if not ids:
        return []
    cutter = run.task.source
    if not isinstance(cutter, Tokenizer):
        raise RefusalError("leave_out goes with a text, or a document whose words are weighed; leave it away.")
    words = find_words(source, choose_unit([source]))
    reads = len(words) * len(cutter.encode(source).ids)
    if reads > MOST_READ:
        raise RefusalError(f"leave_out reads up to {MOST_READ:,} tokens; got {reads:,}; shorten the source.")
    falls = leave_one_out(run.task, run.model, source, Output("", 0.0, (), tuple(ids), source), words)
    pairs = zip(words, falls.tolist(), strict=True)
    return [{"start": start, "end": end, "fall": fall} for (start, end), fall in pairs]


def _explain_output(found: Prediction, *, leave_out: bool = False) -> dict[str, Any]:
    """What is to be seen of a prediction; no maps for a model without attention, or a blank source."""
    try:
        labelled = isinstance(found.run.task, Classification)
        trace = (found.faithfulness if leave_out and labelled else found.attention).to_dict()
    except Seq2SeeError:
        cutter = found.run.task.source
        tokens = cutter.encode(found.source).tokens if isinstance(cutter, Tokenizer) else ()
        trace = AttentionTrace(found.source, found.text, tokens, found.tokens, ()).to_dict()
    labels = {} if found.probabilities is None else {"label": found.text, "probabilities": dict(found.probabilities)}
    return {**trace, **labels, "target": found.text, "score": found.score, "finished": found.finished}


def _explain_target(run: Run, source: str, target: str, check: Check) -> tuple[dict[str, Any], tuple[int, ...]]:
    if not isinstance(run.task, Transduction):
        raise RefusalError("this run chooses labels; leave out target.")
    ids = run.task.target.encode(target).ids
    check([ids])
    return {**explain(run.task, run.model, source, ids).to_dict(), "score": None, "finished": True}, ids


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
