"""The attention behind a label: over a text, a document or an image."""

import torch

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.core.trace import tracing
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.explain.document_attention import explain_document
from seq2see.explain.image_grid import show_pixels
from seq2see.explain.output_trace import OutputTrace
from seq2see.explain.rollout import list_image_maps
from seq2see.models.classifier import Classifier
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output


def explain_label(task: Classification, model: Classifier, output: Output) -> OutputTrace:
    """Return the attention behind one label.

    Args:
        task: the task of the run that chose the label.
        model: the model of that run.
        output: the label with its source.
    """
    return explain_image(task, model, output) if task.source.name == "image" else explain_document(task, model, output)


@torch.inference_mode()
def explain_image(task: Classification, model: Classifier, output: Output) -> AttentionTrace:
    """Return the attention over the cells of an image; the label is the only token of the target.

    Args:
        task: the task of the run that chose the label.
        model: the model of that run; it is put into evaluation mode.
        output: the label with the path of its image.

    Raises:
        AttentionError: if the pool does not weigh the cells of the image, and no layer attends to them.
    """
    model.eval()
    given = task.source.prepare([output.source]).gather([0])
    with tracing(model) as trace:
        memory = model.encoder(*model.place(given))
        model.pool(memory)
    maps = list_image_maps(trace, memory.mask.shape[1], model.pool) if memory.grid else []
    if memory.grid is None or not maps:
        raise AttentionError("this model has no attention to show: its pool does not weigh the cells of the image.")
    return AttentionTrace(
        output.source,
        output.text,
        task.source.positions(output.source, memory.grid),
        (_label_token(output),),
        tuple(maps),
        memory.grid,
        show_pixels(given[0]),
    )


@torch.inference_mode()
def explain_layers(task: Classification, model: Classifier, output: Output) -> AttentionTrace:
    """Return the self-attention of a text in every layer of the encoder, head by head.

    Args:
        task: the task of the run that chose the label.
        model: the model of that run; it is put into evaluation mode.
        output: the label with its source.

    Raises:
        AttentionError: if no layer attends from tokens to tokens.
    """
    model.eval()
    tokens = task.source.tokens(output.source)
    with tracing(model) as trace:
        model.pool(model.encoder(*model.place(task.source.prepare([output.source]).gather([0]))))
    found = {name: trace.weights(name)[0].float().cpu().numpy() for name in trace.names if name.startswith("encoder.")}
    maps = [
        AttentionMap(name, weights, queries="source")
        for name, weights in found.items()
        if weights.shape[1:] == (len(tokens), len(tokens))
    ]
    if not maps:
        raise AttentionError("this model has no self-attention between tokens; leave out --map and --heads.")
    return AttentionTrace(output.source, output.text, tokens, (_label_token(output),), tuple(maps))


def _label_token(output: Output) -> Token:
    return Token(output.text, 0, len(output.text), output.score)
