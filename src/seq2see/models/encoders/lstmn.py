"""The LSTM-Network as encoder: it reads a source token by token, and looks back at every step."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.shapes import Count, Rate
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.tape import TapeCell, unroll


class LstmnEncoder(nn.Module):
    """Cheng, Dong & Lapata 2016, section 3: one pass from left to right; layers are stacked as in section 3.2.

    heads: how many looks back, each for its share of the state; the paper has one.
    recency: whether a look back begins at what came last; without it, as in the paper, at everything alike.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        embedding_size: Count = 128,
        size: Count = 128,
        layers: Count = 1,
        heads: Count = 1,
        recency: bool = True,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        self.memory_size = size
        self.embed = Embed(vocabulary, embedding_size)
        self.dropout = Dropout(dropout)
        widths = [embedding_size] + [size] * (layers - 1)
        self.layers = nn.ModuleList(
            TapeCell(input_size=width, size=size, heads=heads, recency=recency) for width in widths
        )

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; what stands at masked positions comes after all that could look at it."""
        states, cells, carry, real = self.embed(tokens), None, [], mask.unsqueeze(2)
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        for layer in self.layers:
            states, cells = _read(layer, self.dropout(states))
            carry.append((_pick(states, last), _pick(cells, last)))
        assert cells is not None
        return Memory(
            states=self.dropout(states * real),
            mask=mask,
            summary=carry[-1][0],
            carry=tuple(carry),
            cells=cells * real,
        )

    def own_layers(self) -> list[list[nn.Module]]:
        """What a decoder may share, layer by layer."""
        return [[layer] for layer in self.layers]


def _read(cell: nn.Module, inputs: Float[Tensor, "b s i"]) -> tuple[Float[Tensor, "b s d"], Float[Tensor, "b s d"]]:
    assert isinstance(cell, TapeCell)
    tape = cell.begin(inputs)
    for length, entered in enumerate(cell.enter(inputs).unbind(dim=1)):
        tape = cell.advance(entered, tape, length)
    return unroll(tape, inputs.shape[1])


def _pick(states: Float[Tensor, "b s d"], places: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
    """The state at one place of each row."""
    return states.gather(1, places[:, None, None].expand(-1, 1, states.shape[2]))[:, 0]
