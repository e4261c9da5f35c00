"""Encodings that are told by the letters of languages, and candidates for those that are not."""

from pathlib import Path

import pytest

from seq2see.core.errors import DataError
from seq2see.data.formats.encodings import guess_encoding

CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Dnes je hezký den a půjdeme ven na procházku.\n"
POLISH = "Zażółć gęślą jaźń. Dziś jest ładny dzień i pójdziemy na spacer, a potem będzie obiad.\n"
HUNGARIAN = "Árvíztűrő tükörfúrógép. A kutya az erdőben fut, és a macska őt nézi az ablakból.\n"
TURKISH = "Bugün hava çok güzel, dışarı çıkıp yürüyüş yapacağız. Şimdi öğle yemeği yiyoruz.\n"
FRENCH = "Les élèves étaient très contents: ça coûte un œuf, « déjà » dit l\u2019hôtesse à Noël.\n"
GERMAN = "Schöne Grüße aus München; die Straße ist für Fußgänger gesperrt, das Übrige später.\n"
SPANISH = "¿Dónde está el niño? ¡Mañana será otro día, señor! El pingüino cantó una canción.\n"
NORDIC = "Blåbærsyltetøy på brødet, så går vi ut på en lang tur i skogen etter å ha spist på øya.\n"
RUSSIAN = "Съешь ещё этих мягких французских булок, да выпей чаю\tСегодня хорошая погода\n"
GREEK = "Καλημέρα, σήμερα είναι μια όμορφη μέρα\tθα πάμε έξω για περίπατο μετά το φαγητό\n"
JAPANESE = "今日はいい天気ですね、散歩に行きましょう\t昼ごはんを食べたあとで出かけます\n"
CHINESE = "今天天气很好我们出去散步吧\t吃完午饭以后再去图书馆看书\n"
TRADITIONAL = "今天天氣很好我們出去散步吧\t吃完午飯以後再去圖書館看書\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, encoding) for text in (CZECH, POLISH, HUNGARIAN) for encoding in ("cp1250", "iso8859-2")),
        (TURKISH, "cp1254"),
        *((text, "cp1252") for text in (FRENCH, GERMAN, SPANISH, NORDIC)),
    ],
)
@pytest.mark.parametrize("times", [1, 30])
def test_latin_letters_tell_their_encoding(text: str, encoding: str, times: int) -> None:
    data = (times * text).encode(encoding)
    assert data.decode(guess_encoding(data, "x")) == times * text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (GREEK, "cp1253"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
        (TRADITIONAL, "big5"),
    ],
)
def test_other_scripts_are_asked_for_with_candidates(text: str, encoding: str) -> None:
    with pytest.raises(DataError, match=r"^x: text must be UTF-8, or its encoding named") as caught:
        guess_encoding((5 * text).encode(encoding), Path("x"))
    assert encoding in str(caught.value).partition("--encoding")[2]


@pytest.mark.parametrize("text", [FRENCH, RUSSIAN, JAPANESE, CHINESE])
@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_without_a_mark_is_named(text: str, order: str) -> None:
    with pytest.raises(DataError, match=rf"looks like UTF-16; .* --encoding utf-16-{order}\)"):
        guess_encoding((5 * text).encode(f"utf-16-{order}"), "x")
    marked = (5 * text).encode("utf-16")
    assert marked.decode(guess_encoding(marked, "x")) == 5 * text


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251"])
def test_a_little_of_another_script_is_no_latin_text(encoding: str) -> None:
    line = "a sentence of many words in English, all of which are ASCII\t" + RUSSIAN[:13] + "\n"
    with pytest.raises(DataError, match=f"--encoding {encoding}"):
        guess_encoding((20 * line).encode(encoding), "x")


def test_capitals_and_signs_are_latin() -> None:
    assert guess_encoding(("ÖSTERREICH\tDÄNEMARK\n" * 9).encode("cp1252"), "x") == "cp1252"
    assert guess_encoding("20 °C – 30 °C\n".encode("cp1252"), "x") == "cp1252"
