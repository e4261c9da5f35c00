"""Which word of the source stands for an unknown one: by all heads and maps that look from target to source."""

import numpy as np

from seq2see.core.special_tokens import END, UNKNOWN
from seq2see.core.token import Token
from seq2see.data.trainable_tokenizers import Words
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.explain.copy_unknown import replace_unknown
from seq2see.tasks.task import Output

SOURCE = "red green blue"
TOKENS = (Token("red", 0, 3), Token("green", 4, 9), Token("blue", 10, 14), Token("</s>", 14, 14))
WRITTEN = (Token("<unk>", 0, 5), Token("<unk>", 6, 11), Token("</s>", 11, 11))


def put_in(*maps: AttentionMap) -> str:
    """Two unknown words, replaced."""
    trace = AttentionTrace(SOURCE, "", TOKENS, WRITTEN, maps)
    output = Output("<unk> <unk>", 0.0, WRITTEN, (UNKNOWN, UNKNOWN, END), SOURCE)
    return replace_unknown(output, trace, Words(min_count=1).learn(["x"])).text


def look(*heads: list[list[float]]) -> np.ndarray:
    """The weights of heads over the two unknown words; the end mark looks at itself."""
    return np.array([[*rows, [0, 0, 0, 1]] for rows in heads], dtype=np.float32)


def test_heads_are_averaged_so_a_bold_one_does_not_decide() -> None:
    bold, others = [[0.7, 0.3, 0, 0], [0, 0.1, 0.9, 0]], [[0, 0.6, 0.4, 0], [0.9, 0.1, 0, 0]]
    assert put_in(AttentionMap("cross", look(bold))) == "red blue"
    assert put_in(AttentionMap("cross", look(bold, others, others))) == "green red"


def test_maps_are_averaged_whatever_their_heads() -> None:
    first = look([[0.8, 0.2, 0, 0], [0, 0.3, 0.7, 0]])
    second = look(*[[[0, 0.7, 0.3, 0], [0.6, 0, 0.4, 0]]] * 3)
    both = AttentionMap("decoder.0", first), AttentionMap("decoder.1", second)
    assert put_in(*both) == "green blue"  # 0.45 against 0.4, and 0.55 against 0.3


def test_only_looks_from_target_to_source_count() -> None:
    cross = AttentionMap("cross", look([[0.6, 0.4, 0, 0], [0.4, 0.6, 0, 0]]))
    own = AttentionMap(
        "own", np.full((1, 3, 4), 0.25, dtype=np.float32) + np.eye(3, 4, 2, dtype=np.float32), keys="memory_rows"
    )
    assert put_in(cross, own) == "red green"


def test_marks_are_no_words_however_much_they_are_looked_at() -> None:
    assert put_in(AttentionMap("cross", look([[0, 0.1, 0.2, 0.7], [0.2, 0.1, 0, 0.7]]))) == "blue red"
