"""The LSTM-Network as encoder: it reads a source token by token, and attends to its past states at every step."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.memory import Memory
from seq2see.core.option_types import Count, Rate
from seq2see.nn.dropout import Dropout
from seq2see.nn.embed import Embed
from seq2see.nn.lstmn_cell import LstmnCell, read_tapes
from seq2see.nn.module_list import TypedModuleList


class LstmnEncoder(nn.Module):
    """Reads a source from left to right with LSTMN cells (Cheng, Dong & Lapata 2016, arXiv:1601.06733, section 3).

    Args:
        vocabulary: number of source tokens v.
        embedding_size: channels e of the source embeddings.
        size: channels d of a state.
        layers: number of layers, stacked as in section 3.2.
        heads: attentions over the past, each for its channels of the state; the paper has one.
        recency: whether these attentions start at the most recent state; in the paper they start uniform.
        dropout: the dropout rate of embeddings, between layers and of the memory.
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
        self.layers: TypedModuleList[LstmnCell] = TypedModuleList(
            LstmnCell(input_size=width, size=size, heads=heads, recency=recency) for width in widths
        )

    def forward(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"]) -> Memory:
        """Encode padded tokens; padding comes after all tokens that could attend to it, and changes nothing.

        Args:
            tokens: ids of the sources, the end mark included, [b s].
            mask: True at tokens, False at padding.
        """
        states, cells, final_states, real = self.embed(tokens), None, [], mask.unsqueeze(2)
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        for layer in self.layers:
            states, cells = _read(layer, self.dropout(states))
            final_states.append((_pick(states, last), _pick(cells, last)))
        assert cells is not None
        return Memory(
            states=self.dropout(states * real),
            mask=mask,
            summary=final_states[-1][0],
            final_states=tuple(final_states),
            cells=cells * real,
        )

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return the modules that a decoder may share, layer by layer."""
        return [[layer] for layer in self.layers]


def _read(cell: LstmnCell, inputs: Float[Tensor, "b s i"]) -> tuple[Float[Tensor, "b s d"], Float[Tensor, "b s d"]]:
    """Return the hidden tape and the memory tape of a source."""
    tape = cell.begin(inputs)
    for length, projected in enumerate(cell.project_input(inputs).unbind(dim=1)):
        tape = cell.advance(projected, tape, length)
    return read_tapes(tape, inputs.shape[1])


def _pick(states: Float[Tensor, "b s d"], positions: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
    """Return the state at one position of each row."""
    return states.gather(1, positions[:, None, None].expand(-1, 1, states.shape[2]))[:, 0]
