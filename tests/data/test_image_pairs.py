"""Images with captions or labels: in any form, the pairs are the same; what is missing is named."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seq2see.core.errors import DataError
from seq2see.data.checks.data_doctor import Diagnosis, examine
from seq2see.data.checks.image_checks import describe_pairs
from seq2see.data.checks.infer import infer_labels, infer_modality
from seq2see.data.formats.folders import find_splits
from seq2see.data.formats.idx import read_idx_image, split_place
from seq2see.data.formats.image_file import read_image
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Finding, Origin, Pairs

COCO = {
    "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 9, "file_name": "b.jpg"}],
    "annotations": [
        {"image_id": 7, "caption": "a cat\n"},
        {"image_id": 7, "caption": "one cat"},
        {"image_id": 9, "caption": "a dog"},
    ],
}
JSONL = [
    '{"image": "A", "captions": ["a cat", "one cat"], "things": [1]}\n{"image": "B", "captions": ["a dog"]}\n',
    '{"caption": "a cat", "file": "A"}\n{"caption": "one cat", "file": "A"}\n{"caption": "a dog", "file": "B"}\n',
]
CAPTIONS = [
    ("captions.jsonl", JSONL[0]),
    ("captions.jsonl", JSONL[1]),
    ("token.txt", "a.jpg#0\ta cat\na.jpg#1\tone cat\nb.jpg#0\ta dog\n"),
    ("results.token", "a.jpg#0\ta cat\na.jpg#1\tone cat\nb.jpg#0\ta dog\n"),
    ("x.csv", "id,filename,caption\n1,A,a cat\n2,A,one cat\n3,B,a dog\n"),
    ("x.tsv", "caption\timage\na cat\tA\none cat\tA\na dog\tB\n"),
    ("captions.txt", 'image,caption\na.jpg,a cat\na.jpg,"one cat"\nb.jpg,a dog\n'),
    ("results.csv", "image_name| comment_number| comment\nA|0|a cat\nA|1|one cat\nB|0|a dog\n"),
    ("bare.tsv", "A\ta cat\nA\tone cat\nB\ta dog\n"),
    ("captions_val2017.json", json.dumps(COCO)),
]


def draw(file: Path, *, grey: int = 0) -> Path:
    """A small image."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (5, 3), (grey, grey, grey)).save(file)
    return file


def write(file: Path, content: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def rows(pairs: Pairs) -> list[tuple[str, str]]:
    return list(zip(pairs.source, pairs.target, strict=True))


def find(findings: Any, words: str) -> Finding:
    (found,) = [finding for finding in findings if words in finding.message]
    return found


@pytest.mark.parametrize(("name", "content"), CAPTIONS, ids=lambda text: text.split("\n")[0][:30])
def test_captions_in_any_form_give_the_same_pairs(tmp_path: Path, name: str, content: str) -> None:
    a, b = (draw(tmp_path / "images" / f"{letter}.jpg") for letter in "ab")
    file = write(tmp_path / name, content.replace("A", "images/a.jpg").replace("B", "images/b.jpg"))
    pairs, findings = read_pairs(Origin(file))
    assert rows(pairs) == [(str(a), "a cat"), (str(a), "one cat"), (str(b), "a dog")]
    assert infer_modality(pairs) == "images"
    assert not infer_labels(pairs)
    assert pairs.group().references == [["a cat", "one cat"], ["a dog"]]
    assert all(finding.level == "note" for finding in findings)


def test_missing_images_are_named_and_their_captions_skipped(tmp_path: Path) -> None:
    draw(tmp_path / "Flicker8k_Dataset" / "a.jpg")
    lines = "a.jpg#0\ta cat\nlost.jpg#0\tnothing\nlost.jpg#1\tnobody\nodd.jpg.1#0\tnowhere\n"
    pairs, findings = read_pairs(Origin(write(tmp_path / "Flickr8k_text" / "Flickr8k.token.txt", lines)))
    assert rows(pairs) == [(str(tmp_path / "Flicker8k_Dataset" / "a.jpg"), "a cat")]
    lost = find(findings, "an image is not there: 'lost.jpg', 'odd.jpg.1'")
    assert (lost.line, lost.count, lost.level) == (2, 2, "warning")
    assert "(3 in all)" in lost.remedy


def test_a_file_of_one_line_has_no_line_to_name(tmp_path: Path) -> None:
    draw(tmp_path / "a.jpg")
    blank = [*COCO["annotations"], {"image_id": 7, "caption": " "}]
    content = json.dumps({**COCO, "annotations": blank}).replace("b.jpg", "lost.jpg")
    _, findings = read_pairs(Origin(write(tmp_path / "captions.json", content)))
    lost = find(findings, "an image is not there: 'lost.jpg'")
    assert (lost.line, lost.remedy) == (None, "its pairs are skipped (1 in all); add it or remove them")
    assert find(findings, "blank").line is None


def test_an_image_without_captions_is_named_and_skipped(tmp_path: Path) -> None:
    draw(tmp_path / "a.jpg")
    draw(tmp_path / "b.jpg")
    lines = '{"image": "a.jpg", "captions": []}\n{"image": "b.jpg", "captions": ["a dog"]}\n'
    pairs, findings = read_pairs(Origin(write(tmp_path / "captions.jsonl", lines)))
    assert rows(pairs) == [(str(tmp_path / "b.jpg"), "a dog")]
    assert find(findings, "blank").line == 1


def test_words_of_captions_are_counted_whatever_their_capitals() -> None:
    captions = ["Dog cat", "dog cat", "dog cat one", "a DOG cat", "dog two"]
    pairs = Pairs(["/a.jpg", "/a.jpg", "/b.jpg", "/b.jpg", "/c.jpg"], captions, labels=False)
    expected = "3 images with 1 to 2 captions each (5 in all); 5 words, 1 of them 5 times or more"
    assert describe_pairs(pairs) == expected


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.jsonl", '{"image": "no.jpg", "caption": "x"}', "not one of its images is there, neither 'no.jpg'"),
        ("x.csv", "image,label\nno.jpg,cat\n", "not one of its images is there"),
        ("token.txt", "no.jpg#0\tx\n", "put them beside the file or into images/"),
        ("x.jsonl", '{"image": "no.jpg", "captions": ["x", 3]}', "line 1: the field 'captions' must be a text; got"),
        (
            "x.json",
            '{"images": []}',
            "an array of objects, or COCO's captions, an object with `images` and `annotations`",
        ),
        ("x.json", "{", "this is not JSON"),
        ("x.json", '{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"image_id": 1}]}', "kind of 'caption'"),
        (
            "x.json",
            '{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"image_id": 2, "caption": "b"}]}',
            "not one caption belongs to an image",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_pairs(Origin(write(tmp_path / name, content)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_texts_that_look_like_images_stay_texts_if_nothing_says_otherwise(tmp_path: Path) -> None:
    pairs, findings = read_pairs(Origin(write(tmp_path / "x.tsv", "a.jpg\tan A\nb.png\ta B\n")))
    assert rows(pairs) == [("a.jpg", "an A"), ("b.png", "a B")]
    assert "not one of them is there" in find(findings, "look like images").message
    assert infer_modality(pairs) == "text"


def test_a_folder_has_a_class_in_each_sub_folder(tmp_path: Path) -> None:
    files = [draw(tmp_path / name) for name in ("cat/1.png", "cat/deep/2.JPG", "train/1.png", "train/2.png")]
    (tmp_path / "empty").mkdir()
    write(tmp_path / "cat" / "notes.txt", "hm")
    pairs, findings = read_pairs(Origin(tmp_path))
    assert rows(pairs) == list(zip(map(str, files), ["cat", "cat", "train", "train"], strict=True))
    assert infer_labels(pairs)  # the class that is called train is no split, because images are right inside it
    assert "'empty'" in find(findings, "no images").message
    assert "'cat/notes.txt'" in find(findings, "no image:").message
    assert describe_pairs(pairs) == "4 images of 2 classes, 2 each"


def test_splits_of_a_folder_are_found_and_must_be_named(tmp_path: Path) -> None:
    for split in ("train", "val", "test"):
        draw(tmp_path / "classes" / split / "cat" / "1.png")
        draw(tmp_path / "captions" / "images" / f"{split}.png")
        write(tmp_path / "captions" / f"{split}.jsonl", f'{{"image": "images/{split}.png", "caption": "x"}}')
    classes, captions = tmp_path / "classes", tmp_path / "captions"
    assert find_splits(classes) == {"train": classes / "train", "valid": classes / "val", "test": classes / "test"}
    assert find_splits(captions)["valid"] == captions / "val.jsonl"
    assert read_pairs(Origin(classes / "val"))[0].source == (str(classes / "val" / "cat" / "1.png"),)
    with pytest.raises(DataError, match=r"holds train.jsonl \(train\), val.jsonl \(valid\), test.jsonl \(test\); name"):
        read_pairs(Origin(captions))
    assert find_splits(write(tmp_path / "alone" / "captions.jsonl", "x").parent) == {
        "train": tmp_path / "alone" / "captions.jsonl"
    }


def pack_idx(file: Path, values: Any) -> None:
    array = np.array(values, dtype=np.uint8)
    file.parent.mkdir(parents=True, exist_ok=True)
    head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    file.write_bytes(gzip.compress(head + array.tobytes()))


def test_idx_files_hold_images_and_labels(tmp_path: Path) -> None:
    folder = tmp_path / "fashion-mnist"
    images = np.arange(4 * 3 * 2).reshape(4, 3, 2)
    for split in ("train", "t10k"):
        pack_idx(folder / f"{split}-images-idx3-ubyte.gz", images)
        pack_idx(folder / f"{split}-labels-idx1-ubyte.gz", [9, 0, 9, 0])
    assert find_splits(folder)["test"].name == "t10k-images-idx3-ubyte.gz"
    pairs, _ = read_pairs(Origin(find_splits(folder)["train"]))
    assert pairs.target == ("9", "0", "9", "0")
    assert (infer_modality(pairs), infer_labels(pairs)) == ("images", True)
    place = split_place(pairs.source[2])
    assert place == (folder / "train-images-idx3-ubyte.gz", 2)
    assert (read_idx_image(*place) == images[2]).all()
    assert (np.asarray(read_image(pairs.source[2])) == images[2][..., None]).all()
    leak = find(examine({name: Origin(part) for name, part in find_splits(folder).items()}).findings, "leakage")
    assert (leak.count, leak.line) == (4, None)


def test_idx_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "train-images-idx3-ubyte.gz"
    for values, labels, words in [
        (np.zeros((2, 1, 1)), [1], "got 2 images and 1 labels"),
        (np.zeros((2, 1)), [1, 1], "must begin 0 0 8 3"),
    ]:
        pack_idx(file, values)
        pack_idx(tmp_path / "train-labels-idx1-ubyte.gz", labels)
        with pytest.raises(DataError, match=words):
            read_pairs(Origin(file))
    pack_idx(tmp_path / "t10k-images-idx3-ubyte", np.zeros((1, 1, 1)))
    with pytest.raises(DataError, match="t10k-labels-idx1-ubyte: there is no such file"):
        read_pairs(Origin(tmp_path / "t10k-images-idx3-ubyte"))


def diagnose(folder: Path, **splits: dict[str, list[str]]) -> Diagnosis:
    """Examine splits of captions by the name of their image."""
    origins = {}
    for split, captions in splits.items():
        lines = [json.dumps({"image": image, "captions": texts}) for image, texts in captions.items()]
        origins[split] = Origin(write(folder / f"{split}.jsonl", "\n".join(lines)))
    return examine(origins)


def test_the_doctor_leaves_out_what_cannot_be_opened_and_finds_copies(tmp_path: Path) -> None:
    draw(tmp_path / "a.png")
    draw(tmp_path / "b.png", grey=9)
    (tmp_path / "c.png").write_bytes((tmp_path / "b.png").read_bytes())
    (tmp_path / "cut.png").write_bytes((tmp_path / "a.png").read_bytes()[:30])
    write(tmp_path / "page.jpg", "<html>")
    write(tmp_path / "nothing.gif", "")
    names = ["a.png", "b.png", "cut.png", "page.jpg", "nothing.gif"]
    diagnosis = diagnose(
        tmp_path, train={name: ["a cat", "one cat"] for name in names}, test={"c.png": ["a cat", "one cat"]}
    )
    broken = find(diagnosis.findings, "cannot be opened")
    assert (broken.count, len(diagnosis.splits["train"])) == (3, 4)
    assert "page.jpg (not an image)" in broken.message
    leak = find(diagnosis.findings, "leakage: 100.0% of its images")
    assert f"{tmp_path / 'c.png'} as {tmp_path / 'b.png'}" in leak.message
    assert not [finding for finding in diagnosis.findings if "another target" in finding.message]
    said = describe_pairs(diagnosis.splits["train"])
    assert said == "2 images with 2 captions each (4 in all); 3 words, 0 of them 5 times or more"


def test_captions_without_spaces_are_counted_by_their_characters() -> None:
    pairs = Pairs(("/a.png", "/b.png"), ("一只猫。", "一只狗。"), (1, 2))
    assert describe_pairs(pairs) == "2 images with one caption each; 5 characters, 0 of them 5 times or more"


def test_the_doctor_wants_one_kind_and_known_labels(tmp_path: Path) -> None:
    names = ("train/cat/1.png", "train/cat/2.png", "train/dog/3.png", "train/dog/4.png", "test/cow/5.png")
    for grey, name in enumerate(names):
        draw(tmp_path / name, grey=grey)
    train = Origin(tmp_path / "train")
    found = examine({"train": train, "test": Origin(tmp_path / "test")}).findings
    assert find(found, "labels (1) that the training data does not have, such as 'cow'").level == "warning"
    mixed = examine({"train": train, "test": Origin(write(tmp_path / "x.tsv", "a\tb\n"))})
    assert "all data must be of one kind; here are text" in mixed.errors[0].message
    write(tmp_path / "broken" / "a" / "1.png", "x")
    assert "not one image can be opened" in str(examine({"train": Origin(tmp_path / "broken")}).errors[0])


def test_targets_are_labels_when_they_are_short_and_come_back() -> None:
    sources = [f"text {number}" for number in range(8)]
    assert infer_labels(Pairs(sources, ["good", "bad"] * 4))
    assert not infer_labels(Pairs(sources, [f"{number}-01-02" for number in range(8)]))
    assert not infer_labels(Pairs(sources, ["a red circle left of a blue square", "no"] * 4))
    assert not infer_labels(Pairs(sources[:4] * 2, ["a", "b", "a", "b", "b", "a", "b", "a"]))


def test_what_the_data_says_of_its_targets_counts_more_than_how_they_look() -> None:
    sources, few = [f"text {number}" for number in range(8)], ["a", "b", "c", "d"] * 2
    assert not infer_labels(Pairs(sources, few))
    assert infer_labels(Pairs(sources, few, labels=True).take(range(8)))
    assert not infer_labels(Pairs(sources, sources, labels=True))
    assert not infer_labels(Pairs(sources, ["a", "b"] * 4, labels=False))
    long = ["very good", "not so good at all in my opinion"]
    assert infer_labels(Pairs(sources, long * 4, labels=True))
    assert not infer_labels(Pairs(sources, long * 4))


def test_many_lists_of_few_labels_are_labels() -> None:
    sources, lists = [f"text {number}" for number in range(8)], ["a|b", "b|c", "a|c", "c|b", "a", "b", "c", "a|b|c"]
    assert not infer_labels(Pairs(sources, lists, labels=True))
    assert infer_labels(Pairs(sources, lists, labels=True, separator="|"))


def test_hidden_files_are_no_images_and_strays_are_named(tmp_path: Path) -> None:
    kept = draw(tmp_path / "cat" / "a.jpg")
    for name in ("cat/._a.jpg", "cat/.ipynb_checkpoints/a.jpg", "__MACOSX/a.jpg", "stray.JPG"):
        draw(tmp_path / name)
    pairs, findings = read_pairs(Origin(tmp_path))
    assert rows(pairs) == [(str(kept), "cat")]
    assert infer_labels(pairs)
    assert find(findings, "in none of them: 'stray.JPG'").level == "warning"


def test_names_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    for name in (b"caf\xe9", b"dog"):
        folder = Path(os.fsdecode(bytes(tmp_path) + b"/" + name))
        folder.mkdir()
        Image.new("RGB", (8, 8)).save(folder / "a.png")
    with pytest.raises(DataError, match=r"must be UTF-8; got b'.*caf\\xe9.*'; rename it") as caught:
        read_pairs(Origin(tmp_path))
    assert str(caught.value).isprintable()
