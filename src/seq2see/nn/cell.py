"""Recurrent cells: the same weights run over a whole sequence at once or advance by one step.

A cell's state is a tuple of tensors [n d]: (hidden,) for a GRU, (hidden, memory) for an LSTM.
"""

from typing import Literal, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

CellState = tuple[Float[Tensor, "n d"], ...]


@runtime_checkable
class TorchRnn(Protocol):
    """Is what a cell uses of torch's one-layer LSTM or GRU: its weights, its biases and its kernel."""

    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor

    def __call__(
        self, inputs: Tensor, state: Tensor | tuple[Tensor, ...], /
    ) -> tuple[Tensor, Tensor | tuple[Tensor, ...]]: ...


class Cell(nn.Module):
    """Base of the cells; the weights are those of torch's own one-layer module, whose layout and kernel are used.

    A cell of your own sets `gates` and `parts` and overrides `advance` and `_build`.

    Args:
        input_size: channels i of an input.
        size: channels d of a state.
    """

    gates: int  # how many blocks of size d the input is projected to
    parts: int  # how many tensors a state has
    rnn: TorchRnn

    def __init__(self, *, input_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.rnn = self._build(input_size, size)
        for gate in self.rnn.weight_hh_l0.chunk(self.gates):
            nn.init.orthogonal_(gate)
        for gate in self.rnn.weight_ih_l0.chunk(self.gates):
            nn.init.xavier_uniform_(gate)
        nn.init.zeros_(self.rnn.bias_ih_l0)
        nn.init.zeros_(self.rnn.bias_hh_l0)

    def project(self, inputs: Float[Tensor, "*n i"]) -> Float[Tensor, "*n g"]:
        """Project an input with the first columns of the input weights and the bias, which needs no state.

        Args:
            inputs: [*n i]; i may be less than `input_size`, if `columns` multiplies the rest of the input.

        Returns:
            What all gates get from the input, [*n g].
        """
        return F.linear(inputs, self.rnn.weight_ih_l0[:, : inputs.shape[-1]], self.rnn.bias_ih_l0)

    def columns(self, last: int) -> Float[Tensor, "g i"]:
        """Return the last columns of the input weights, for an input that is known only inside a loop.

        Call it once, before the loop: every slice of the weights costs a gradient of their full size.

        Args:
            last: how many columns i, one for each channel of that input; above 0.
        """
        return self.rnn.weight_ih_l0[:, -last:]

    def advance(self, projected: Float[Tensor, "n g"], state: CellState) -> CellState:
        """Take one step, and return the state after it.

        Args:
            projected: what `project` returned for the input, [n g].
            state: the state before the step, each of its tensors [n d].
        """
        raise NotImplementedError

    def run(self, inputs: Float[Tensor, "b t i"], state: CellState) -> tuple[Float[Tensor, "b t d"], CellState]:
        """Take all steps at once: return the hidden state at every position, and the state after the last one.

        Args:
            inputs: inputs without padding, [b t i]; at least one position.
            state: the state before the first step, each of its tensors [b d].
        """
        exact = self.rnn.weight_ih_l0.dtype
        wrapped = tuple(part.unsqueeze(0).to(exact).contiguous() for part in state)
        with torch.autocast("cpu", enabled=False):  # not every CPU has this kernel for fewer bits
            outputs, last = self.rnn(inputs.to(exact), wrapped if self.parts > 1 else wrapped[0])
        return outputs, tuple(part[0] for part in (last if isinstance(last, tuple) else (last,)))

    def zeros(self, like: Float[Tensor, "n _"]) -> CellState:
        """Return the state before the first input: zeros.

        Args:
            like: gives the number of rows, the type and the device, [n _].
        """
        return tuple(like.new_zeros(like.shape[0], self.size) for _ in range(self.parts))

    def _build(self, input_size: int, size: int) -> TorchRnn:
        raise NotImplementedError


class Lstm(Cell):
    """Is the long short-term memory, with forget gates that start open.

    i, f, o = sigmoid(W x + U h + b), c^ = tanh(W x + U h + b); c' = f c + i c^, h' = o tanh(c') (Hochreiter &
    Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735; forget gates by Gers et al. 2000, doi:10.1162/089976600300015015).
    """

    gates = 4
    parts = 2

    def __init__(self, *, input_size: int, size: int) -> None:
        super().__init__(input_size=input_size, size=size)
        with torch.no_grad():
            self.rnn.bias_ih_l0[size : 2 * size] = 1.0

    def advance(self, projected: Float[Tensor, "n g"], state: CellState) -> CellState:
        hidden, memory = state
        gates = projected + F.linear(hidden, self.rnn.weight_hh_l0, self.rnn.bias_hh_l0)
        write, forget, candidate, output = gates.chunk(4, dim=-1)
        memory = forget.sigmoid() * memory + write.sigmoid() * candidate.tanh()
        return output.sigmoid() * memory.tanh(), memory

    def _build(self, input_size: int, size: int) -> TorchRnn:
        return _TorchLstm(input_size, size, batch_first=True)


class Gru(Cell):
    """Is the gated recurrent unit of Cho et al. 2014 (arXiv:1406.1078), in the form of torch's GRU.

    r, z = sigmoid(W x + U h + b), n = tanh(W x + r (U h + b)); h' = (1 - z) n + z h. The reset gate r acts after the
    recurrent product, in the paper before it.
    """

    gates = 3
    parts = 1

    def advance(self, projected: Float[Tensor, "n g"], state: CellState) -> CellState:
        (hidden,) = state
        recurrent = F.linear(hidden, self.rnn.weight_hh_l0, self.rnn.bias_hh_l0)
        # split, not sliced: the gradient of a split is one concatenation
        cuts = [2 * self.size, self.size]
        gates, candidate = projected.split(cuts, dim=-1)
        recurrent_gates, recurrent_candidate = recurrent.split(cuts, dim=-1)
        reset, update = (gates + recurrent_gates).sigmoid().chunk(2, dim=-1)
        candidate = (candidate + reset * recurrent_candidate).tanh()
        return (torch.lerp(candidate, hidden.to(candidate.dtype), update.to(candidate.dtype)),)

    def _build(self, input_size: int, size: int) -> TorchRnn:
        return _TorchGru(input_size, size, batch_first=True)


class _TorchLstm(nn.LSTM):
    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor


class _TorchGru(nn.GRU):
    weight_ih_l0: Tensor
    weight_hh_l0: Tensor
    bias_ih_l0: Tensor
    bias_hh_l0: Tensor


Direction = Literal["forward", "backward"]


def read_sequence(
    cell: Cell,
    inputs: Float[Tensor, "b s i"],
    mask: Bool[Tensor, "b s"],
    direction: Direction,
) -> tuple[Float[Tensor, "b s d"], CellState]:
    """Run a cell over padded sequences: return the states in source order, and the state after the last real position.

    Sequences of a batch have nearly one length, so the part they share runs in torch's kernel, and the ragged rest is
    stepped with finished rows frozen: more than twice as fast as packing for an LSTM, and padding changes nothing.

    Args:
        cell: the cell to run, from a state of zeros.
        inputs: [b s i].
        mask: True at real positions, which come before the padding, [b s].
        direction: `backward` reads each sequence from its last real position to its first.
    """
    lengths = mask.sum(dim=1)
    if direction == "backward":
        inputs = flip(inputs, lengths)
    shared = int(lengths.min())
    outputs, state = _run_shared(cell, inputs[:, :shared])
    ragged = []
    projected = cell.project(inputs[:, shared:])
    for position in range(shared, inputs.shape[1]):
        alive = (position < lengths).unsqueeze(1)
        after = cell.advance(projected[:, position - shared], state)
        state = tuple(torch.where(alive, new, old) for new, old in zip(after, state, strict=True))
        ragged.append(state[0])
    outputs = torch.cat([outputs, torch.stack(ragged, dim=1)], dim=1) if ragged else outputs
    return (flip(outputs, lengths) if direction == "backward" else outputs), state


def flip(sequence: Float[Tensor, "b s d"], lengths: Tensor) -> Float[Tensor, "b s d"]:
    """Reverse each row inside its own length, and leave the padding where it is.

    Args:
        sequence: [b s d].
        lengths: how many positions of each row are real, [b].
    """
    positions = torch.arange(sequence.shape[1], device=sequence.device)
    rows = torch.where(positions < lengths.unsqueeze(1), lengths.unsqueeze(1) - 1 - positions, positions)
    return sequence.gather(1, rows.unsqueeze(2).expand_as(sequence))


def _run_shared(cell: Cell, inputs: Float[Tensor, "b s i"]) -> tuple[Float[Tensor, "b s d"], CellState]:
    start = cell.zeros(inputs[:, 0] if inputs.shape[1] else inputs.flatten(1))
    if inputs.shape[1] == 0:
        return inputs.new_zeros(inputs.shape[0], 0, cell.size), start
    return cell.run(inputs, start)
