"""Answers: predictions and explanations as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from seq2see.core import change
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.word import find_words
from seq2see.inspect.alignment import choose_units, default_choice, merge_trace
from seq2see.inspect.alternative import list_alternatives, show_piece
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.document import DocumentTrace
from seq2see.inspect.explain import explain
from seq2see.inspect.replay import give_output, replay
from seq2see.run import Decoding, Prediction, Run
from seq2see.search.watch import History
from seq2see.serve.batcher import Job
from seq2see.serve.schema import Explanation
from seq2see.tasks.demands import Prefix

NO_TREE = 256  # nodes of a step; a wider beam is not drawn


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
    if attention != "none":
        row["attention"] = look(prediction, words=attention == "words")
    return row


def look(prediction: Prediction, *, words: bool) -> dict[str, Any] | None:
    """The attention of a prediction: all maps, or one number for each pair of words; None if there is none."""
    if not prediction.ids:
        return None
    try:
        return weigh_words(prediction) if words else prediction.attention.to_dict()
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
    run: Run, how: Decoding, source: str, prefix: Prefix, question: Explanation, job: Job
) -> dict[str, Any]:
    """What the model writes and looks at, under the changes that are asked for."""
    changes = [change.Change(c.map, c.heads, c.weights, c.temperature) for c in question.changed]
    watch = Recorder(job, records=question.history)
    with change.changing(run.model, changes):
        if question.target is None:
            prediction = run.predict(
                [source],
                search=how.search,
                rules=how.rules,
                prefix=[prefix],
                replace_unknown=how.replace_unknown,
                watch=watch,
            )[0]
            facts: dict[str, Any] = {"score": prediction.score, "finished": prediction.finished}
            trace, ids = _trace(prediction), prediction.ids
        else:
            ids, facts = run.task.target.encode(question.target).ids, {"score": None, "finished": True}
            trace = explain(run.task, run.model, source, ids)
        choices = list_alternatives(run.task, run.model, source, ids, count=question.choices) if ids else []
    return {
        **trace.to_dict(),
        **facts,
        "ids": list(ids),
        "choices": [[asdict(one) for one in row] for row in choices] if question.choices else None,
        "history": draw_tree(run, watch, ids) if question.history and question.target is None else None,
    }


def _trace(prediction: Prediction) -> AttentionTrace | DocumentTrace:
    """The trace of a prediction; without maps for a model that has no attention, or a blank source."""
    try:
        return prediction.attention
    except Seq2SeeError:
        source = prediction.run.task.source.encode(prediction.source).tokens
        return AttentionTrace(prediction.source, prediction.text, source, prediction.tokens, ())


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
