"""What else may stand at each place of an output: its probability, and the letters that it would add."""

import pytest
import torch

from seq2see.config.load import load_config
from seq2see.core.special_tokens import PAD, SPECIAL_TOKENS, START
from seq2see.data.pairs import Pairs
from seq2see.explain.alternatives import list_alternatives
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.transduction import Transduction

TEXTS = ["a cab had a bad day", "the cab was bad"] * 2


def build(tokens: str) -> tuple[Transduction, Seq2Seq]:
    """A small random model that finds the marks likely."""
    half = {"size": 6, "embedding_size": 4}
    base = {"preset": "bahdanau2015", "data": {"train": "x"}, "tokens": {"source": "words", "target": tokens}}
    config = load_config(base={**base, "model": {"encoder": half, "decoder": half}}).config
    task = Transduction.learn(config, Pairs(TEXTS, TEXTS))
    model = task.build(config).eval()
    with torch.no_grad():
        model.decoder.output.bias[: len(SPECIAL_TOKENS)] += 3
    return task, model


@pytest.mark.parametrize("tokens", ["words", "characters"])
def test_alternatives_are_the_likeliest_tokens_with_the_text_they_would_add(tokens: str) -> None:
    task, model = build(tokens)
    ids = task.target.encode("the bad cab").ids
    found = list_alternatives(task, model, TEXTS[0], ids, count=6)
    source = torch.tensor(task.source.tokenizer.ids([TEXTS[0]]))
    with torch.no_grad():
        logits = model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[START, *ids[:-1]]]))[0]
    assert len(found) == len(ids)
    for place, (row, chances) in enumerate(zip(found, logits.softmax(dim=-1).tolist(), strict=True)):
        allowed = [number for number in range(len(chances)) if number not in (PAD, START)]
        best = sorted(allowed, key=lambda number: -chances[number])[:6]
        assert [each.id for each in row] == best
        assert [each.confidence for each in row] == pytest.approx([chances[number] for number in best], rel=1e-4)
        before = task.target.decode(ids[:place])
        for each in row:
            mark = each.id < len(SPECIAL_TOKENS)
            assert (SPECIAL_TOKENS[each.id] if mark else task.target.decode([*ids[:place], each.id])) == (
                each.text if mark else before + each.text
            )


def test_there_are_no_more_alternatives_than_tokens() -> None:
    task, model = build("words")
    (row, _) = list_alternatives(task, model, "a", task.target.encode("a").ids, count=999)
    assert sum(each.confidence for each in row) < 1  # all but the marks that are never written
    assert len({each.id for each in row}) == len(task.target)
