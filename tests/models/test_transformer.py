"""The Transformer: laws, torch's own layers, the cache."""

import math
from itertools import cycle
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from twins import shake, twin_attention, twin_decoder, twin_encoder

from annotated import load
from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.memory import Memory
from seq2see.core.registry import names, part
from seq2see.core.trace import tracing
from seq2see.models.seq2seq import build_seq2seq
from seq2see.nn.key_value_cache import GROWTH_POSITIONS
from seq2see.nn.multihead import MultiHead
from seq2see.nn.position import Sinusoidal
from seq2see.testing import check_decoder, check_encoder

SOFTMAX = part("normalise", "softmax")


@pytest.mark.parametrize(("position", "norm"), [*zip(names("position"), cycle(["pre", "post"]), strict=False)])
def test_transformer_obeys_the_laws(position: str, norm: str) -> None:
    options = {"kind": "transformer", "norm": norm, "position": position}
    check_encoder(options)
    check_decoder(options, options)


@pytest.mark.parametrize("score", names("score"))
def test_cached_steps_are_teacher_forcing_with_every_score(score: str) -> None:
    model, tokens = tiny(score=score), torch.randint(0, 9, (3, 5))
    memory = model.encoder(torch.randint(0, 9, (3, 4)), torch.ones(3, 4, dtype=torch.bool))
    expected = model.decoder(tokens, memory)
    source, state = model.decoder.begin(memory)
    for number, token in enumerate(tokens.unbind(dim=1)):
        logits, state = model.decoder.step(token, state, source)
        torch.testing.assert_close(logits, expected[:, number])


def test_multihead_is_torchs_own() -> None:
    torch.manual_seed(1)
    ours = MultiHead(size=12, memory_size=12, heads=3, score=part("score", "scaled_dot"), normalise=SOFTMAX)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    nn.init.normal_(theirs.in_proj_bias)
    for layer, rows in ((ours.query, slice(0, 12)), (ours.memory, slice(12, 36))):
        layer.weight.data, layer.bias.data = theirs.in_proj_weight.data[rows], theirs.in_proj_bias.data[rows]
    ours.output.load_state_dict(theirs.out_proj.state_dict())
    query, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    expected, _ = theirs(query, memory, memory, key_padding_mask=~mask)
    torch.testing.assert_close(ours(query, ours.project_memory(memory), mask[:, None, None, :]), expected)
    expected, _ = theirs(
        memory, memory, memory, attn_mask=nn.Transformer.generate_square_subsequent_mask(7), is_causal=True
    )
    torch.testing.assert_close(ours(memory, ours.project_memory(memory), causal=True), expected)


@pytest.mark.parametrize("own_values", [False, True])
def test_multihead_on_another_width_is_torchs_own(own_values: bool) -> None:
    """Keys are made of states, and values too, unless the memory has values of its own."""
    sizes = {"size": 12, "memory_size": 5, "heads": 3}
    ours = shake(MultiHead(**sizes, score=part("score", "scaled_dot"), normalise=SOFTMAX))
    query, states, values = (torch.randn(2, *shape, dtype=torch.double) for shape in ((4, 12), (7, 5), (7, 5)))
    memory = torch.cat([states, values], dim=2) if own_values else states
    expected, _ = twin_attention(ours, own_values=own_values)(query, memory, memory)
    torch.testing.assert_close(ours(query, ours.project_memory(states, values if own_values else None)), expected)


def embed(half: Any, tokens: Tensor) -> Tensor:
    """Vaswani et al. 2017, sections 3.4 and 3.5."""
    size = half.embed.weight.shape[1]
    positions = torch.from_numpy(load("positions")["sinusoids"](tokens.shape[1], size))
    return half.embed.weight[tokens] * math.sqrt(size) + positions


LAYERED = {"kind": "transformer", "size": 12, "inner_size": 20, "layers": 2, "heads": 3}
TOKENS = torch.tensor([[4, 8, 1, 3, 5, 2, 7], [6, 1, 4, 4, 0, 0, 0]])
REAL = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
NORMS = pytest.mark.parametrize("norm", ["pre", "post"])
TIMES = pytest.mark.parametrize("times", [1, 2])  # as it is, and with all that training drops doubled


@NORMS
@TIMES
@pytest.mark.usefixtures("doubled")
def test_encoder_is_torchs_own(norm: str, times: int) -> None:
    ours = shake(part("encoder", {**LAYERED, "norm": norm, "dropout": 0.5})(vocabulary=9)).train(times == 2)
    theirs = twin_encoder(ours, norm=norm, doubled=times == 2)
    memory = ours(TOKENS, REAL)
    expected = theirs(times * embed(ours, TOKENS), src_key_padding_mask=~REAL)
    torch.testing.assert_close(memory.states, expected * REAL.unsqueeze(2), atol=1e-6, rtol=1e-6)
    means = torch.stack([expected[0].mean(dim=0), expected[1, :4].mean(dim=0)])
    torch.testing.assert_close(memory.summary, means, atol=1e-6, rtol=1e-6)


@NORMS
@TIMES
@pytest.mark.usefixtures("doubled")
@pytest.mark.parametrize("own_values", [False, True])
def test_decoder_is_torchs_own(norm: str, times: int, own_values: bool) -> None:
    spec = {**LAYERED, "norm": norm, "dropout": 0.5}
    ours = shake(part("decoder", spec)(vocabulary=9, memory_size=5)).train(times == 2)
    theirs = twin_decoder(ours, norm=norm, doubled=times == 2, own_values=own_values)
    states, values = torch.randn(2, 2, 7, 5, dtype=torch.double)
    memory = Memory(states, REAL, values=values if own_values else None)
    tokens = TOKENS[:, :5]
    expected = theirs(
        times * embed(ours, tokens),
        torch.cat([states, values], dim=2) if own_values else states,
        tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
        memory_key_padding_mask=~REAL,
    )
    expected = expected @ ours.output.weight.T + ours.output.bias
    torch.testing.assert_close(ours(tokens, memory), expected, atol=1e-6, rtol=1e-6)
    source, state = ours.begin(memory)
    for number, token in enumerate(tokens.unbind(dim=1)):
        logits, state = ours.step(token, state, source)
        torch.testing.assert_close(logits, expected[:, number], atol=1e-6, rtol=1e-6)


def test_sinusoids_are_those_of_the_paper() -> None:
    table = Sinusoidal(size=6)(0, 300)
    assert table[0].tolist() == [0, 1, 0, 1, 0, 1]
    assert table[7, 0].item() == pytest.approx(math.sin(7), abs=1e-6)
    assert table[299, 3].item() == pytest.approx(math.cos(299 / 10_000 ** (2 / 6)), abs=1e-5)


def test_the_last_learned_position_stands_for_all_after_it() -> None:
    torch.manual_seed(1)
    learned = part("position", {"kind": "learned", "max_positions": 5})(size=300).eval()
    table = learned(0, 5)
    assert 0.09 < table.std().item() < 0.11  # small beside embeddings, but no two places alike
    assert torch.equal(learned(3, 4), table[[3, 4, 4, 4]])
    assert torch.equal(learned.at(torch.tensor([[1, 4, 9], [5, 0, 3]])), table[torch.tensor([[1, 4, 4], [4, 0, 3]])])


def tiny(**options: Any) -> Any:
    spec = {"kind": "transformer", "size": 12, "inner_size": 8, "layers": 2, "heads": 2, **options}
    torch.manual_seed(5)
    return (
        build_seq2seq(
            encoder=part("encoder", spec),
            decoder=part("decoder", spec),
            source_sizes={"vocabulary": 9},
            target_vocabulary=9,
        )
        .double()
        .eval()
    )


@torch.inference_mode()
def test_cache_grows_over_blocks_and_equals_no_cache() -> None:
    model = tiny()
    tokens = torch.randint(0, 9, (3, 2 * GROWTH_POSITIONS + 3))
    memory = model.encoder(torch.randint(0, 9, (3, 4)), torch.ones(3, 4, dtype=torch.bool))
    expected = model.decoder(tokens, memory)
    source, state = model.decoder.begin(memory)
    for number, token in enumerate(tokens.unbind(dim=1)):
        logits, state = model.decoder.step(token, state, source)
        torch.testing.assert_close(logits, expected[:, number])


@torch.inference_mode()
def test_a_state_can_be_continued_twice() -> None:
    model = tiny()
    memory = model.encoder(torch.randint(0, 9, (1, 4)), torch.ones(1, 4, dtype=torch.bool))
    source, state = model.decoder.begin(memory)
    _, state = model.decoder.step(torch.tensor([1]), state, source)
    _, first = model.decoder.step(torch.tensor([5]), state, source)
    _, _ = model.decoder.step(torch.tensor([6]), state, source)
    logits, _ = model.decoder.step(torch.tensor([7]), first, source)
    torch.testing.assert_close(logits, model.decoder(torch.tensor([[1, 5, 7]]), memory)[:, -1])


def test_every_attention_is_traced_by_name() -> None:
    model = tiny()
    source, tokens = torch.randint(0, 9, (1, 4)), torch.randint(0, 9, (1, 3))
    with torch.no_grad(), tracing(model) as trace:
        model(source, torch.ones(1, 4, dtype=torch.bool), tokens)
    kinds = {name: trace.weights(name).shape for name in trace.names}
    assert kinds["encoder.layers.1.self_attention.attend"] == (1, 2, 4, 4)
    assert kinds["decoder.layers.0.self_attention.attend"] == (1, 2, 3, 3)
    assert kinds["decoder.layers.1.cross.attend"] == (1, 2, 3, 4)
    assert (trace.weights("decoder.layers.0.self_attention.attend").triu(1) == 0).all()


def test_wrong_sizes_are_named() -> None:
    with pytest.raises(ConfigError, match="multiple of heads"):
        tiny(heads=5)
    model = tiny(position={"kind": "learned", "max_positions": 4})
    with pytest.raises(TokenError, match="learned positions end at 4"):
        model.train().encoder(torch.zeros(1, 5, dtype=torch.long), torch.ones(1, 5, dtype=torch.bool))
