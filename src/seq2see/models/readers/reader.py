"""The contract of readers: how a recurrent decoder reads the memory, so that the classic models are configurations.

At every step a reader computes a context vector: `read_before` from the state before the step, which the cell takes in
beside its input, and `read_after` from the new state. `features` combines state, embedding and context for the output
layer. All of them take [n t _]: t = 1 while stepping, and all steps at once where no step needs the context of an
earlier one.
"""

from dataclasses import dataclass, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.nn.shared_gradient import share_gradients


@dataclass(frozen=True)
class ReaderMemory:
    """Holds what a reader computes once per source; one row a source, however many hypotheses read it.

    Args:
        mask: True at real positions of the source, [b s].
        keys: what the attention prepared from the memory's states, [b 1 s k]; None without attention.
        values: what the attention sums, [b 1 s d]; None without attention.
        summary: the summary of the source as each step reads it, [b d]; None if the reader does not read it.
    """

    mask: Bool[Tensor, "b s"]
    keys: Float[Tensor, "b 1 s k"] | None = None
    values: Float[Tensor, "b 1 s d"] | None = None
    summary: Float[Tensor, "b d"] | None = None

    def share_gradients(self) -> "ReaderMemory":
        """Return the same memory for the steps of a loop, which compute its gradients together."""
        keys, values = (None if each is None else share_gradients(each) for each in (self.keys, self.values))
        return replace(self, keys=keys, values=values)


class Reader(nn.Module):
    """Base of the readers; it reads nothing, and the output layer sees the hidden state.

    A reader of your own sets the sizes below and overrides `begin`, `read_before`, `read_after` and `features` as
    needed. Its constructor may take `size` (of the hidden state), `memory_size`, `embedding_size`, `layers` and
    `dropout`.
    """

    input_context_size = 0  # channels of the context that the cell takes in beside its input
    sequential = False  # whether that context depends on the step before, so that training has to go step by step
    bottom_layer = False  # whether it attends with the state of the bottom layer, and every layer takes the context in
    context_size = 0  # channels of the context that one step leaves for the next
    features_size: int  # channels of what the output layer sees

    def begin(self, memory: Memory) -> ReaderMemory:
        """Compute what is constant while one source is read.

        Args:
            memory: what the encoder returned for b sources.
        """
        return ReaderMemory(mask=memory.mask)

    def read_before(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t f"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        """Return the context that the cell takes in beside its input.

        A reader that is not `sequential` may use only the shapes of `hidden` and `context`, because training calls it
        once for all steps, before any state exists.

        Args:
            hidden: the hidden state before the step, [n t d]; of the bottom layer if `bottom_layer`, else of the top
                layer.
            context: what `read_after` returned at the step before, [n t f]; zeros at the first step.
            positions: the numbers of the steps, from 0, [n t].
            memory: what `begin` returned; n is a multiple of its rows b.
        """
        return context

    def read_after(
        self,
        hidden: Float[Tensor, "n t d"],
        context: Float[Tensor, "n t _"],
        positions: Int[Tensor, "n t"],
        memory: ReaderMemory,
    ) -> Float[Tensor, "n t _"]:
        """Return the context that the step leaves for the output layer and the next step.

        Args:
            hidden: the hidden state of the top layer after the step, [n t d].
            context: what `read_before` returned, [n t _].
            positions: the numbers of the steps, from 0, [n t].
            memory: what `begin` returned; n is a multiple of its rows b.
        """
        return context

    def features(
        self, hidden: Float[Tensor, "n t d"], embedded: Float[Tensor, "n t e"], context: Float[Tensor, "n t _"]
    ) -> Float[Tensor, "n t o"]:
        """Return what the output layer sees.

        Args:
            hidden: the hidden state of the top layer after the step, [n t d].
            embedded: the embedding of the step's input token, [n t e].
            context: what `read_after` returned, [n t _].
        """
        return hidden
