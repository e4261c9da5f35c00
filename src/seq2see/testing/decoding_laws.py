"""Laws of encoders and decoders, which every one of them obeys."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.core.registry import Part, find, part, trust_named
from seq2see.core.tree import expand, select
from seq2see.models.network import Encoder, SizedEncoder
from seq2see.models.seq2seq import Decoder
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Hypothesis, Limits, Search
from seq2see.search.rules import Ban, MinLength, NoRepeat, Rule, pack_prefixes
from seq2see.search.sample import Sample
from seq2see.testing.attention_laws import CPU, Device, Spec
from seq2see.testing.tiny_sources import IMAGE_PIXELS, SOURCE_VOCABULARY, SOURCES, Draw, choose_draw, place

TARGETS = 5
TARGET_VOCABULARY, SIZE, EMBEDDING, LAYERS = 17, 6, 5, 2
END = 2
PIECES = ("", "", "", *"abcdefghijklmn")
PREFIXES = ((5, 6), (), (7,))


def tiny_encoder(spec: Spec, device: Device = CPU) -> SizedEncoder:
    """Build a small encoder in float64, with small values for the options that the spec leaves open.

    Args:
        spec: the encoder, as a configuration names it, or as a part.
        device: where it computes, such as `pretend_device()`.
    """
    torch.manual_seed(3)
    built: Any = _tiny("encoder", spec)(vocabulary=SOURCE_VOCABULARY, image_size=IMAGE_PIXELS)
    return built.double().eval().to(device)


def tiny_decoder(spec: Spec, encoder: SizedEncoder, device: Device = CPU) -> Decoder:
    """Build a small decoder in float64 for an encoder.

    Args:
        spec: the decoder, as a configuration names it, or as a part; what it leaves open gets small values.
        encoder: the encoder whose memory it reads.
        device: where it computes, such as `pretend_device()`.
    """
    torch.manual_seed(4)
    built: Any = _tiny("decoder", spec)(vocabulary=TARGET_VOCABULARY, memory_size=encoder.memory_size)
    return built.double().eval().to(device)


def check_encoder(spec: Spec, draw: Draw | None = None, device: Device = CPU) -> None:
    """Check that padding and other sources of the batch change nothing, and that padded states are zero.

    Args:
        spec: the encoder, as a configuration names it, or as a part.
        draw: returns the sources of the given rows, padded, and their mask; None takes what `choose_draw` chooses.
        device: where the parts compute, such as `pretend_device()`.

    Raises:
        AssertionError: if a law is broken.
    """
    encoder = tiny_encoder(spec, device)
    draw = place(draw or choose_draw(encoder), device)
    together: Memory = encoder(*draw(range(SOURCES)))
    at_home: Memory = tiny_encoder(spec)(*place(draw, CPU)(range(SOURCES)))
    torch.testing.assert_close(together.states.cpu(), at_home.states, msg="a device changes the memory")
    for row in range(SOURCES):
        alone: Memory = encoder(*draw([row]))
        for mine, other in zip(_list_positions(together), _list_positions(alone), strict=True):
            torch.testing.assert_close(mine[row][together.mask[row]], other[0][alone.mask[0]])
            assert (mine[row][~together.mask[row]] == 0).all(), "padding is left in the memory"
        for mine, other in zip(_list_summaries(together), _list_summaries(alone), strict=True):
            torch.testing.assert_close(mine[row], other[0])
        cells = alone.mask.shape[1] if alone.grid is None else alone.grid[0] * alone.grid[1]
        assert cells == alone.mask.shape[1], "a grid has other cells than the states"


def _check_device(spec: Spec, encoder_spec: Spec, draw: Draw, device: Device) -> None:
    """Check that logits and gradients are those of the CPU."""
    tokens, found = torch.arange(SOURCES * TARGETS).view(SOURCES, TARGETS), []
    for where in (device, CPU):
        encoder: Any = tiny_encoder(encoder_spec, where)
        decoder: Any = tiny_decoder(spec, encoder, where)
        logits = decoder(tokens.to(where), encoder(*place(draw, where)(range(SOURCES))))
        logits.square().sum().backward()
        learned = [*encoder.named_parameters(), *decoder.named_parameters()]
        gradients = {name: weight.grad.cpu() for name, weight in learned if weight.grad is not None}
        found.append({"logits": logits.detach().cpu(), **gradients})
    torch.testing.assert_close(*found, msg=lambda difference: f"a device changes numbers. {difference}")


def _list_positions(memory: Memory) -> list[Tensor]:
    """List what a memory has for each of its positions."""
    return [memory.states, memory.contents, *([memory.cells] if memory.cells is not None else [])]


def _list_summaries(memory: Memory) -> list[Tensor]:
    """List what a memory has for the whole source."""
    rest = [memory.summary, memory.head_weights, *(part for state in memory.final_states or () for part in state)]
    return [part for part in rest if part is not None]


def check_decoder(spec: Spec, encoder_spec: Spec, draw: Draw | None = None, device: Device = CPU) -> None:
    """Check that steps equal teacher forcing, that no token changes earlier logits, and the laws of search.

    Args:
        spec: the decoder, as a configuration names it, or as a part.
        encoder_spec: the encoder whose memory it reads, in the same form.
        draw: returns the sources of the given rows, padded, and their mask; None takes what `choose_draw` chooses.
        device: where the parts compute, such as `pretend_device()`.

    Raises:
        AssertionError: if a law is broken.
    """
    encoder = tiny_encoder(encoder_spec, device)
    draw = place(draw or choose_draw(encoder), device)
    decoder = tiny_decoder(spec, encoder, device)
    memory = encoder(*draw(range(SOURCES)))
    _check_device(spec, encoder_spec, draw, device)
    _check_steps(decoder, memory)
    _check_causality(decoder, memory)
    _check_selection(decoder, memory)
    everyone, beam = range(SOURCES), Beam(width=4, n_best=4)
    greedy, narrow = (decode(decoder, encoder, everyone, search, draw=draw) for search in (Greedy(), Beam(width=1)))
    assert [row[0].tokens for row in greedy] == [row[0].tokens for row in narrow]
    # rules are a law of searches; here one search that reorders, under rules, tests all that a state must support
    several = decode(decoder, encoder, everyone, beam, ruled=True, draw=draw)
    for found in (greedy, several, decode(decoder, encoder, everyone, Sample(n_best=2, seed=1), draw=draw)):
        _check_rescoring(decoder, encoder, found, draw)
    for row in everyone:
        (alone,) = decode(decoder, encoder, [row], beam, ruled=True, draw=draw)
        assert [h.tokens for h in alone] == [h.tokens for h in several[row]], "other sources change the outputs"


def check_reading(spec: Spec, encoder_spec: Spec, draw: Draw | None = None, device: Device = CPU) -> None:
    """Check that a decoder reads the memory of an encoder: steps equal teacher forcing.

    Args:
        spec: the decoder, as a configuration names it, or as a part.
        encoder_spec: the encoder whose memory it reads, in the same form.
        draw: returns the sources of the given rows, padded, and their mask; None takes what `choose_draw` chooses.
        device: where the parts compute, such as `pretend_device()`.

    Raises:
        AssertionError: if steps give other logits.
    """
    encoder = tiny_encoder(encoder_spec, device)
    draw = place(draw or choose_draw(encoder), device)
    _check_device(spec, encoder_spec, draw, device)
    _check_steps(tiny_decoder(spec, encoder, device), encoder(*draw(range(SOURCES))))


@torch.inference_mode()
def decode(
    decoder: Decoder,
    encoder: Encoder,
    rows: Sequence[int],
    search: Search,
    *,
    ruled: bool = False,
    draw: Draw | None = None,
) -> list[list[Hypothesis]]:
    """Search with a tiny model; an output has at most three tokens more than its source has positions.

    Args:
        decoder: what `tiny_decoder` returned.
        encoder: what `tiny_encoder` returned.
        rows: the sources, 0 to 2, in any order.
        search: the search.
        ruled: obey rules of every kind and prefixes.
        draw: returns the sources of the given rows, padded, and their mask; None takes what `choose_draw` chooses.

    Returns:
        The outputs of each row, best first.
    """
    source, mask = (draw or choose_draw(encoder))(rows)
    fixed, state = decoder.begin(encoder(source, mask))
    rules: list[Rule] = [MinLength(3, END), NoRepeat(2), Ban(["cab", "d"], PIECES)] if ruled else []
    prefixes = pack_prefixes([PREFIXES[row] for row in rows]) if ruled else None
    longest = mask.flatten(1).sum(dim=1) + 3
    return search(decoder.step, state, fixed, Limits(1, END, longest, (0, 1), rules=rules, prefixes=prefixes))


def _check_steps(decoder: Decoder, memory: Memory) -> None:
    """Check that steps without gradients, as in prediction, equal teacher forcing, as in training."""
    tokens = torch.randint(0, TARGET_VOCABULARY, (SOURCES, TARGETS)).to(memory.mask.device)
    logits = []
    with torch.inference_mode():
        fixed, state = decoder.begin(memory)
        for token in tokens.unbind(dim=1):
            step, state = decoder.step(token, state, fixed)
            logits.append(step)
    torch.testing.assert_close(torch.stack(logits, dim=1), decoder(tokens, memory).detach())


def _check_causality(decoder: Decoder, memory: Memory) -> None:
    tokens = torch.randint(0, TARGET_VOCABULARY - 1, (SOURCES, TARGETS)).to(memory.mask.device)
    changed = tokens.clone()
    changed[:, 3] += 1
    before, after = decoder(tokens, memory), decoder(changed, memory)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3]), "a token changes nothing"


@torch.inference_mode()
def _check_selection(decoder: Decoder, memory: Memory) -> None:
    """Check that reordering hypotheses commutes with a step, with several hypotheses a source."""
    fixed, state = decoder.begin(memory)
    state = expand(state, 2)
    tokens = torch.randint(0, TARGET_VOCABULARY, (2 * SOURCES,)).to(memory.mask.device)
    _, state = decoder.step(tokens, state, fixed)
    order = torch.tensor([1, 0, 3, 3, 4, 5], device=memory.mask.device)  # within each source
    logits, after = decoder.step(tokens, state, fixed)
    selected, selected_after = decoder.step(tokens[order], select(state, order), fixed)
    torch.testing.assert_close(selected, logits[order])
    again, _ = decoder.step(tokens, select(after, order), fixed)
    also, _ = decoder.step(tokens, selected_after, fixed)
    torch.testing.assert_close(again, also)


def _check_rescoring(decoder: Decoder, encoder: Encoder, found: Sequence[Sequence[Hypothesis]], draw: Draw) -> None:
    """Check that the log-probability of a search is that of teacher forcing."""
    rows = [row for row, hypotheses in enumerate(found) for _ in hypotheses]
    hypotheses = [hypothesis for several in found for hypothesis in several]
    inputs = torch.zeros(len(rows), max(len(h.tokens) for h in hypotheses), dtype=torch.long)
    for line, hypothesis in zip(inputs, hypotheses, strict=True):
        line[: len(hypothesis.tokens)] = torch.tensor([1, *hypothesis.tokens[:-1]])
    memory = encoder(*draw(rows))
    logprobs = decoder(inputs.to(memory.mask.device), memory).log_softmax(dim=-1).cpu()
    for mine, hypothesis in zip(logprobs, hypotheses, strict=True):
        again = mine[range(len(hypothesis.tokens)), hypothesis.tokens]
        torch.testing.assert_close(torch.tensor(hypothesis.logprobs, dtype=again.dtype), again, rtol=1e-5, atol=1e-6)


def _tiny(group: str, spec: Spec) -> Part[Any]:
    trust_named(spec)
    chosen: Part[Any] = part(group, spec)
    small: dict[str, object] = {
        "size": SIZE,
        "embedding_size": EMBEDDING,
        "layers": LAYERS,
        "heads": 2,
        "rows": 11,
        "width": 3,
    }
    small["backbone"] = "small"
    known = find(group, chosen.kind).__init__.__annotations__
    options = {name: value for name, value in small.items() if name in known and name not in chosen.options}
    return Part(group, chosen.kind, {**chosen.options, **options})
