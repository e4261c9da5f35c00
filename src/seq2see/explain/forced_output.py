"""Forced decoding: outputs that the model is made to write, found by the model or given by a caller."""

from dataclasses import dataclass

from seq2see.core.errors import Seq2SeeError
from seq2see.core.token import Token
from seq2see.tasks.task import Output, Task
from seq2see.tasks.transduction import Transduction


def encode_target(task: Task, source: str, target: str) -> Output:
    """Return a given target as an output of a model; its score is 0, and its tokens have no confidences.

    Args:
        task: a task that writes texts, whose tokenizer knows every token of the target.
        source: the source as it was given.
        target: the text that the model is made to write.

    Raises:
        Seq2SeeError: the task chooses labels, or a token is unknown.
    """
    tokenizer = task.target.tokenizer
    if tokenizer is None:
        raise Seq2SeeError("this run chooses labels; leave out target.")
    unknown = tokenizer.unknown(target)
    if unknown:
        raise Seq2SeeError(f"target must have known tokens only; got {unknown[0]!r}; change it.")
    ids = tokenizer.encode(target).ids
    return Output(tokenizer.decode(ids), 0.0, tokenizer.tokens(ids), tuple(ids), source)


@dataclass(frozen=True)
class ForcedOutput:
    """A source with the target that the model is made to write for it.

    Args:
        source: the source as it was given.
        target: the text that the model is made to write.
        ids: the target as the decoder writes it, the end mark last.
        tokens: the tokens of the target, with offsets into it.
    """

    source: str
    target: str
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]

    @classmethod
    def from_output(cls, output: Output) -> "ForcedOutput":
        """Return what the model itself wrote.

        Args:
            output: an output of the model.
        """
        return cls(output.source, output.text, output.ids, output.tokens)

    @classmethod
    def from_target(cls, task: Transduction, source: str, target: str) -> "ForcedOutput":
        """Return a given target, with offsets into it even where its words are unknown to the vocabulary.

        Args:
            task: the task whose tokenizer encodes the target.
            source: the source as it was given.
            target: the text that the model is made to write.
        """
        encoding = task.target.encode(target)
        return cls(source, target, encoding.ids, encoding.tokens)
