"""Documents: the same ids by every way, offsets into the raw text, cut with a count, kept in the cache."""

from pathlib import Path

import numpy as np
import pytest

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.registry import part
from seq2see.core.special_tokens import UNKNOWN
from seq2see.data.batch import measure_padding, plan_batches
from seq2see.data.modalities.document import DocumentModality, Documents
from seq2see.data.modalities.learn import read_modality
from seq2see.data.modalities.modality import Modality
from seq2see.data.sentence_splitter import join_sentences

TEXTS = [
    "It was good. I liked it!<br />A lot, and a lot more than that.",
    "Bad.",
    " <br />\n",
    join_sentences(["Mr. Fox. Said", "no"]),
    "这部电影很好。我喜欢！",
]


def make_modality(**options: int) -> DocumentModality:
    spec = {"kind": "documents", "words": {"kind": "words", "min_count": 1, "lowercase": True}, **options}
    return part("tokenizer", spec)().learn(TEXTS)


def test_every_way_gives_the_same_ids() -> None:
    documents = make_modality(max_sentences=3, max_words=4)
    ids, mask = documents.prepare(TEXTS).gather(range(len(TEXTS)))
    for row, text in enumerate(TEXTS):
        expected = [list(sentence.ids) for sentence in documents.sentences(text)]
        found = [ids[row, u][mask[row, u]].tolist() for u in range(mask.shape[1]) if mask[row, u].any()]
        assert found == expected
    assert mask.shape[1:] == (3, 4)
    assert isinstance(documents, Modality)


def test_words_stand_where_their_offsets_say() -> None:
    for text in TEXTS:
        for sentence in make_modality(max_words=3).sentences(text):
            assert [text[word.start : word.end] for word in sentence.words] == [word.text for word in sentence.words]
            assert sentence.span == (sentence.words[0].start, sentence.words[-1].end)
    (first, *_) = make_modality().sentences(TEXTS[0])
    assert TEXTS[0][slice(*first.span)] == "It was good."


def test_lower_case_is_read_and_the_raw_text_is_shown() -> None:
    documents = make_modality()
    (upper,), (lower,) = documents.sentences("BAD GOOD"), documents.sentences("bad good")
    assert upper.ids == lower.ids
    assert UNKNOWN not in upper.ids
    assert [word.text for word in upper.words] == ["BAD", "GOOD"]


def test_long_documents_are_cut_with_a_count_and_long_sentences_go_on() -> None:
    sources = make_modality(max_sentences=2, max_words=4).prepare(TEXTS)
    assert np.diff(sources.bounds).tolist() == [2, 1, 0, 2, 2]
    assert (sources.truncated.documents, sources.truncated.words) == (
        3,
        15,
    )  # ten words, one, and four letters of Chinese
    assert sources.truncated.total == len(sources.words.ids) + 15
    assert "the end of 3 of 5 documents is not read" in sources.remarks[0]
    assert make_modality().prepare(TEXTS).remarks == []


def test_a_document_of_just_as_many_sentences_as_permitted_is_not_cut() -> None:
    whole, longer = "One. Two two.", "One. Two two. Three three three."
    documents = make_modality(max_sentences=2)
    assert documents.prepare([whole]).remarks == []
    cut = documents.prepare([whole, longer]).truncated
    assert (cut.documents, cut.words, cut.total) == (1, 4, 5 + 9)  # a full stop is a word


def test_an_empty_document_has_no_words_and_costs_one() -> None:
    documents = make_modality()
    ids, mask = documents.prepare(["", "\n"]).gather([0, 1])
    assert ids.shape == mask.shape == (2, 1, 1)
    assert not mask.any()
    assert documents.prepare(["", "a"]).lengths.tolist() == [1, 1]
    assert [documents.is_blank(text) for text in TEXTS] == [False, False, True, False, False]


def test_the_cache_is_made_once_and_again_when_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = make_modality()
    expected = documents.prepare(TEXTS).gather([0, 2, 3])
    first = documents.prepare(TEXTS, cache=tmp_path)
    assert isinstance(first.words.ids, np.memmap)
    with monkeypatch.context() as patched:
        patched.setattr(DocumentModality, "_pack", lambda *_: pytest.fail("made again"))
        again = Documents.from_json(documents.to_json()).prepare(TEXTS, cache=tmp_path)
    assert again.gather([0, 2, 3])[0].equal(expected[0])
    (folder,) = tmp_path.iterdir()
    (folder / "words.npy").write_bytes(b"")
    repaired = documents.prepare(TEXTS, cache=tmp_path)
    assert repaired.gather([0, 2, 3])[1].equal(expected[1])
    assert len(documents.prepare(TEXTS[:2], cache=tmp_path)) == 2


def test_a_modality_comes_back_from_its_file() -> None:
    documents = make_modality(max_sentences=7)
    again = read_modality(documents.to_json())
    assert again.sentences(TEXTS[0]) == documents.sentences(TEXTS[0])
    assert again.sizes == {"vocabulary": len(documents.words)}
    with pytest.raises(TokenError, match="not a file of documents"):
        Documents.from_json('{"kind": "documents"}')
    with pytest.raises(ConfigError, match="no tokenizer named 'wrds'; did you mean 'words'"):
        part("tokenizer", {"kind": "documents", "words": "wrds"})()


def test_batches_of_documents_hold_neighbours_in_length() -> None:
    random = np.random.default_rng(1)
    lengths = np.clip(np.exp(random.normal(5.2, 0.7, 5_000)), 1, 3_000).astype(np.int64)
    plan = plan_batches(lengths, np.ones_like(lengths), budget=8192, seed=1, epoch=0)
    assert measure_padding(plan, lengths) < 0.05
