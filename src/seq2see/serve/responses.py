"""The values of JSON responses: explanations of outputs, and descriptions of decoding options."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal

from seq2see.core.errors import Seq2SeeError
from seq2see.core.interventions import Intervention, changing
from seq2see.explain.alternatives import list_alternatives, show_piece
from seq2see.explain.forced_output import encode_target
from seq2see.explain.occlusion import measure_drops
from seq2see.explain.output_trace import OutputTrace
from seq2see.explain.text_attention import explain_text, trace_without_attention
from seq2see.runs.decoding import Decoding
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.search.hypothesis import Hypothesis
from seq2see.search.observers import BeamHistory
from seq2see.search.option_description import OptionDescription
from seq2see.search.options import OPTIONS
from seq2see.serve.batch_queue import predict
from seq2see.serve.bounds import Bounds
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.decoding_cost import count_tokens
from seq2see.serve.request_error import RequestError
from seq2see.serve.requests import ExplainRequest
from seq2see.serve.response_schemas import BeamNodeResponse, BeamTreeResponse, OptionInfo
from seq2see.tasks.constraints import Prefix
from seq2see.tasks.task import Output

Check = Callable[[Sequence[Sequence[int]]], None]  # raises an error if the attention of outputs has too many weights

# tokens of all sources with a part left out; both take some seconds, because labels are computed ten times as fast
MAX_TOKENS_LEFT_OUT, MAX_TOKENS_LEFT_OUT_LABELS = 50_000, 500_000

SEARCHES = {  # by the use of an option: the kinds of search that it has an effect on
    "search": ["configured", "beam", "mbr", "sample"],
    "beam": ["beam", "mbr"],
    "mbr": ["mbr"],
    "sample": ["sample"],
    "rules": ["configured", "greedy", "beam", "mbr", "sample"],
    "output": ["configured", "greedy", "beam", "mbr", "sample"],
}

NEEDS: Mapping[str, Literal["attention", "words"]] = {  # what options need of a run, by their names
    "coverage_penalty": "attention",
    "replace_unknown": "words",
    "dictionary": "words",
}


class CancellableHistory(BeamHistory):
    """Records the hypotheses of a beam as a tree, and stops the beam when its job is cancelled.

    Args:
        job: the job, whose cancellation stops the search.
        records: whether to record anything.
    """

    def __init__(self, job: DecodeJob, *, records: bool) -> None:
        super().__init__()
        self.job, self.records = job, records

    def step(self, sources: Sequence[int], contenders: Callable[[int], list[Hypothesis]]) -> set[int]:
        return set(sources) if self.job.cancelled else set()


def describe_options(bounds: Bounds) -> list[OptionInfo]:
    """Return a description of each decoding option.

    Args:
        bounds: the bounds of this server, which lower the maximum of some options.
    """
    return [_describe_option(each, bounds.options.get(each.name)) for each in OPTIONS]


def _describe_option(option: OptionDescription, most: int | None) -> OptionInfo:
    return OptionInfo(
        name=option.name,
        title=option.title,
        help=option.help,
        kind=option.kind,
        searches=SEARCHES[option.use],
        needs=NEEDS.get(option.name, "nothing"),
        choices=list(option.choices),
        minimum=option.minimum if option.minimum is not None else option.above,
        maximum=option.maximum if most is None else most,
    )


def explain_source(
    run: Run,
    decoding: Decoding,
    source: str,
    prefix: Prefix,
    request: ExplainRequest,
    job: DecodeJob,
    check: Check,
) -> dict[str, object]:
    """Return the output of a source and the attention behind it, under the interventions of a request.

    Args:
        run: the run that decodes.
        decoding: how the output is found; without effect if the request has a target.
        source: the source: a text, a document, or the path of an image.
        prefix: what the output begins with, as text or ids.
        request: the body of the request.
        job: the job that this function is called for; the search stops when it is cancelled.
        check: raises an error if the attention of the given outputs, as ids, has too many weights.

    Returns:
        The fields of `ExplainResponse` but `model`; `source` is the path if the source is an image.

    Raises:
        Seq2SeeError: the target, the interventions or the options do not suit the run, or the source is too long for
            leave_one_out.
    """
    changes = [
        Intervention(each.map, each.heads, each.weights, each.temperature)
        for each in request.interventions
        if each.changes_anything
    ]
    observer = CancellableHistory(job, records=request.history)
    with changing(run.model, changes):
        if request.target is None:
            found: Output = predict(run, decoding, [replace(job, text=source, prefix=prefix)], observer)[0]
            check([found.ids])
        else:
            found = _encode_target(run, source, request.target, check)
        trace = _trace_output(run, found)
        measured = found.ids and _measures_drops(run, trace, found.source, request)
        if measured:
            trace = measure_drops(run.task, run.model, trace, found)
        listed = run.task.writes_text and found.ids and request.top_tokens
        top = list_alternatives(*run.transduction, source, found.ids, count=request.top_tokens) if listed else None
    labels = {} if found.probabilities is None else {"label": found.text, "probabilities": dict(found.probabilities)}
    tree = describe_tree(run, observer, found.ids) if request.history else None
    return {
        "drops": [] if (measured or request.leave_one_out) and trace.has_heads else None,
        **trace.to_dict(),
        **labels,
        "target": found.text,
        "score": found.score if request.target is None else None,
        "finished": found.finished,
        "ids": list(found.ids),
        "top_tokens": top and [[asdict(one) for one in row] for row in top],
        "history": None if tree is None else tree.model_dump(),
    }


def _trace_output(run: Run, found: Output) -> OutputTrace:
    """Return the trace of an output; it has no maps if the model has no attention or the source is blank."""
    try:
        return (
            found.attention
            if isinstance(found, Prediction)
            else explain_text(*run.transduction, found.source, found.ids).with_run_agreement(run.agreement)
        )
    except Seq2SeeError:
        return trace_without_attention(run.task, found)


def _encode_target(run: Run, source: str, target: str, check: Check) -> Output:
    """Return the target of a request as an output of the model."""
    try:
        output = encode_target(run.task, source, target)
    except Seq2SeeError as error:
        raise RequestError(str(error), status=409) from None
    check([output.ids])
    return output


def _measures_drops(run: Run, trace: OutputTrace, source: str, request: ExplainRequest) -> bool:
    """Return whether to leave out each part of the source; refuse too many tokens if the request asks for it."""
    if not (run.agreement.is_weak if request.leave_one_out is None else request.leave_one_out):
        return False
    most = MAX_TOKENS_LEFT_OUT if run.task.writes_text else MAX_TOKENS_LEFT_OUT_LABELS
    reads = _count_reads(run, trace, source)
    if reads > most and request.leave_one_out:
        sentence = f"leave_one_out reads up to {most:,} tokens; got {reads:,}; shorten the source."
        raise RequestError(sentence, status=409)
    return reads <= most


def _count_reads(run: Run, trace: OutputTrace, source: str) -> int:
    """Return the tokens of all sources with a part left out; 0 for an image, which has few regions."""
    if run.task.source.name == "image":
        return 0
    parts = sum(len(group) for group in trace.list_parts(run.task.source, source))
    return parts * count_tokens(run, source)


def describe_tree(run: Run, history: BeamHistory, ids: Sequence[int]) -> BeamTreeResponse | None:
    """Return all hypotheses of a beam as a tree.

    Args:
        run: the run that decoded.
        history: what was recorded of the search of one source.
        ids: the ids of the output, by which its node is found.

    Returns:
        None if nothing was recorded, because the search is not a beam or a target was given.
    """
    nodes = history.nodes.get(0, [])
    if not nodes:
        return None
    before = [None if node.parent < 0 else nodes[node.parent].token for node in nodes]
    ends = history.ends.get(0, {})
    target = run.transduction[0].target
    described = [
        BeamNodeResponse(
            parent=None if node.parent < 0 else node.parent,
            id=node.token,
            text=show_piece(target, last, node.token),
            logprob=node.logprob,
            total=node.total,
            kept=node.kept,
            score=ends[place].score if place in ends else None,
        )
        for place, (node, last) in enumerate(zip(nodes, before, strict=True))
    ]
    best = next((place for place, one in ends.items() if one.tokens == tuple(ids)), None)
    return BeamTreeResponse(nodes=described, best=best)
