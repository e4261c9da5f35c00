"""The cost of decoding and of showing attention, by which batches are filled and requests are limited."""

from seq2see.runs.decoding import Decoding
from seq2see.runs.run import Run


def count_cost(run: Run, decoding: Decoding, text: str) -> int:
    """Return the cost of decoding one source: its tokens times the hypotheses of the search.

    Args:
        run: the run that decodes.
        decoding: the search, whose width is the number of hypotheses.
        text: the source: a text, a document, or the path of an image.
    """
    return count_tokens(run, text) * decoding.search.width


def count_tokens(run: Run, source: str) -> int:
    """Return the tokens of a text, the words of a document, or for an image the tokens of a text that costs as much.

    Args:
        run: the run whose tokenizer is used.
        source: the source: a text, a document, or the path of an image.
    """
    return run.task.source.cost(source)


def count_heads(run: Run) -> int:
    """Return the number of attention heads in a model, over all its attentions; at least 1.

    Args:
        run: the run with the model; an attention without a number of heads has that of the module around it, or one.
    """
    modules = dict(run.model.named_modules())
    found = [(name.rpartition(".")[0], module) for name, module in modules.items() if hasattr(module, "normalise")]
    owners = [module if hasattr(module, "heads") else modules.get(parent) for parent, module in found]
    return sum(getattr(owner, "heads", 1) for owner in owners) or 1
