"""Explaining a label: what the pool looked at, in a text, a document or a picture."""

import torch

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.core.trace import tracing
from seq2see.data.tokenise import Tokenizer
from seq2see.inspect.attention import AttentionMap, AttentionTrace
from seq2see.inspect.document import DocumentTrace, explain_document
from seq2see.inspect.explain import name_cells, show_pixels
from seq2see.inspect.rollout import look_through
from seq2see.models.classifier import Classifier
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output


def explain_label(task: Classification, model: Classifier, output: Output) -> AttentionTrace | DocumentTrace:
    """The attention behind one label."""
    return (
        explain_picture(task, model, output)
        if "picture_size" in task.source.sizes
        else explain_document(task, model, output)
    )


@torch.inference_mode()
def explain_picture(task: Classification, model: Classifier, output: Output) -> AttentionTrace:
    """Where in a picture the model looked; its label stands where a caption would."""
    model.eval()
    given = task.source.prepare([output.source]).gather([0])
    with tracing(model) as trace:
        memory = model.encoder(*given)
        model.pool(memory)
    maps = look_through(trace, memory.mask.shape[1], model.pool) if memory.grid else []
    if memory.grid is None or not maps:
        raise AttentionError("this model has no attention to show: its pool does not weigh the cells of the picture.")
    label = Token(output.text, 0, len(output.text), output.score)
    return AttentionTrace(
        output.source,
        output.text,
        name_cells(memory.grid),
        (label,),
        tuple(maps),
        memory.grid,
        show_pixels(given[0]),
    )


@torch.inference_mode()
def explain_layers(task: Classification, model: Classifier, output: Output) -> AttentionTrace:
    """How the tokens of a text look at each other in every layer of the encoder, head by head."""
    model.eval()
    tokens = task.source.encode(output.source).tokens if isinstance(task.source, Tokenizer) else ()
    with tracing(model) as trace:
        model.pool(model.encoder(*task.source.prepare([output.source]).gather([0])))
    seen = {name: trace.weights(name)[0].float().numpy() for name in trace.names if name.startswith("encoder.")}
    maps = [
        AttentionMap(name, weights, queries="source")
        for name, weights in seen.items()
        if weights.shape[1:] == (len(tokens), len(tokens))
    ]
    if not maps:
        raise AttentionError("this model has no layers whose tokens look at each other; leave out --map and --heads.")
    label = Token(output.text, 0, len(output.text), output.score)
    return AttentionTrace(output.source, output.text, tokens, (label,), tuple(maps))
