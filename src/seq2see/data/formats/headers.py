"""Names of columns and fields, by which source and target are found."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from seq2see.core.registry import shorten
from seq2see.data.formats.image_paths import IMAGE_ENDINGS
from seq2see.data.formats.lines import ReadReport

MAX_LISTED_NAMES = 8  # in a message
MAX_SHOWN_NAME = 40  # characters
MIN_ROWS_BELOW_NUMBERS, MIN_ROWS_BELOW_HEADER = 10, 20  # of a table that can tell whether it has a header
LANGUAGES = (
    *("en", "de", "fr", "es", "it", "nl", "pt", "ru", "zh", "ja", "ko", "ar", "fa", "hi", "tr", "pl", "cs", "sv", "uk"),
    *("da", "fi", "hu", "ro", "bg", "el", "th", "vi", "ms", "bn", "ta", "te", "ur", "sw", "et", "lt"),
    *("english", "german", "french", "spanish", "italian", "dutch", "portuguese", "russian", "chinese", "japanese"),
    *("korean", "arabic", "persian", "farsi", "hindi", "turkish", "polish", "czech", "swedish", "ukrainian", "danish"),
    *("norwegian", "finnish", "hungarian", "romanian", "bulgarian", "greek", "hebrew", "thai", "vietnamese", "latin"),
    *("indonesian", "malay", "bengali", "tamil", "telugu", "urdu", "swahili", "estonian", "lithuanian", "latvian"),
    *("deutsch", "français", "español", "italiano", "português", "nederlands", "polski", "русский", "中文", "日本語"),
)
# in the order of preference, where a header has several of them
SOURCE_NAMES = (
    *("source", "src", "input", "text", "document", "review", "sentence", "question", "written", "word", "raw", "from"),
    *("content", "body", "comment", "message", "tweet", "article", "abstract", "utterance", "phrase", "spelling", "x"),
)
TARGET_NAMES = (
    *("target", "tgt", "trg", "output", "label", "labels", "answer", "reference", "iso", "pronunciation"),
    *(
        "translation",
        "sentiment",
        "polarity",
        "class",
        "category",
        "topic",
        "intent",
        "genre",
        "to",
        "rating",
        "stars",
        "score",
        "tag",
        "y",
    ),
)
# sources and targets in other languages; both must be of one, for a dictionary may begin with question and Antwort
FOREIGN_NAMES = tuple(
    (sources.split(), targets.split())
    for sources, targets in (
        ("quelle frage eingabe text satz original", "ziel antwort ausgabe übersetzung referenz klasse kategorie"),
        ("source question entrée texte phrase original", "cible réponse sortie traduction référence classe catégorie"),
        ("fuente origen pregunta entrada texto frase", "destino objetivo respuesta salida traducción clase categoría"),
        ("fonte sorgente domanda ingresso testo frase", "destinazione obiettivo risposta uscita traduzione classe"),
        ("fonte origem pergunta entrada texto frase", "destino alvo resposta saída tradução classe categoria"),
        ("bron vraag invoer tekst zin", "doel antwoord uitvoer vertaling klasse categorie"),
        ("źródło pytanie wejście tekst zdanie", "cel odpowiedź wyjście tłumaczenie klasa kategoria"),
        ("zdroj otázka vstup text věta", "cíl odpověď výstup překlad třída kategorie"),
        ("källa fråga indata text mening", "mål svar utdata översättning klass kategori"),
        ("kaynak soru girdi metin cümle", "hedef cevap yanıt çıktı çeviri sınıf kategori"),
        ("источник вопрос вход ввод текст предложение", "цель ответ выход вывод перевод класс категория"),
        ("джерело питання запитання вхід текст речення", "ціль відповідь вихід переклад клас категорія"),
        (
            "المصدر مصدر السؤال سؤال المدخل مدخل النص نص",
            "الهدف هدف الجواب الإجابة إجابة المخرج مخرج الترجمة ترجمة الفئة",
        ),
        ("מקור שאלה קלט טקסט", "יעד תשובה פלט תרגום"),
        ("منبع پرسش سوال ورودی متن", "هدف پاسخ جواب خروجی ترجمه"),
        ("स्रोत प्रश्न सवाल इनपुट वाक्य", "लक्ष्य उत्तर जवाब आउटपुट अनुवाद"),
        (
            "源 源文 原文 问题 問題 输入 輸入 文本 句子",
            "目标 目標 译文 譯文 答案 回答 输出 輸出 翻译 翻譯 标签 標籤 类别 類別",
        ),
        ("原文 ソース 質問 入力 テキスト 文", "訳文 ターゲット 回答 答え 出力 翻訳 ラベル"),
        ("원문 소스 질문 입력 텍스트 문장", "번역 번역문 타겟 답변 대답 출력 라벨"),
        ("nguồn câu_hỏi văn_bản", "đích câu_trả_lời bản_dịch"),
        ("sumber pertanyaan masukan teks kalimat", "sasaran jawaban keluaran terjemahan"),
    )
)
IMAGE_NAMES = ("image", "picture", "photo", "img", "image_name", "image_path")
FILE_NAMES = ("file", "filename", "file_name", "path")  # of an image, if the first one looks like one
CAPTION_NAMES = ("captions", "caption", "sentences", "sentence", "description", "comment", "text")
LABEL_NAMES = ("label", "labels", "class", "category")
# columns whose targets are labels, not texts
CLASS_NAMES = (
    *("label", "labels", "sentiment", "polarity", "class", "category", "topic", "intent", "genre", "rating", "stars"),
    *("score", "tag"),
)


def find_image_fields(record: Mapping[str, object], reading: ReadReport) -> tuple[str, str] | None:
    """Find the fields of an image and of its captions, or else of its label, by their usual names.

    Args:
        record: the first row or object, by field; a field such as `file` counts only if its value ends as an image
            does.
        reading: is told that sources are images, if such fields are found.

    Returns:
        The names of both fields as the record writes them; None if one of them is missing.
    """
    names = {name.lower(): name for name in record}
    target = next((names[name] for name in (*CAPTION_NAMES, *LABEL_NAMES) if name in names), None)
    source = next((names[name] for name in IMAGE_NAMES if name in names), None)
    for name in FILE_NAMES if source is None else ():
        if name in names and str(record[names[name]]).strip().lower().endswith(IMAGE_ENDINGS):
            source = names[name]
    if source is None or target is None:
        return None
    reading.images = True
    return source, target


def find_text_columns(header: Sequence[str], below: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """Find the columns of source and target by their usual names, by two languages, or by labels in one of two.

    Args:
        header: the names of the columns.
        below: the rows below the header; empty if names alone decide.

    Returns:
        The places of both columns, counted from 0; None if nothing tells them.
    """
    names = [unicodedata.normalize("NFC", name).lower() for name in header]
    for known in ((SOURCE_NAMES, TARGET_NAMES), *FOREIGN_NAMES):
        source, target = (_find_first(names, side) for side in known)
        if source is not None and target is not None:
            return source, target
    if len(names) != 2:
        return None
    if all(name in LANGUAGES for name in names) or _heads_labels(header, below, 1) or _heads_numbers(header, below):
        return 0, 1
    return (1, 0) if _heads_labels(header, below, 0) else None


def _find_first(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if names.count(name) == 1), None)


def _heads_labels(header: Sequence[str], below: Sequence[Sequence[str]], column: int) -> bool:
    """Tell whether a row of two names is above few labels that all occur again, and is none of them."""
    labels = Counter(row[column].strip() for row in below if len(row) > 1)
    again = len(labels) >= 2 and min(labels.values()) >= 2 and 4 * len(labels) <= labels.total()
    return again and header[column] not in labels and all(re.fullmatch(r"\w+([ _-]\w+)?", name) for name in header)


def _heads_numbers(header: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether two different words are above a column where every text has a digit."""
    if (
        len(below) < MIN_ROWS_BELOW_NUMBERS
        or header[0] == header[1]
        or not all(re.fullmatch(r"[^\W\d]+", name) for name in header)
    ):
        return False
    return any(all(re.search(r"\d", row[column]) for row in below if len(row) > 1) for column in (0, 1))


def resembles_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether two different words are above sentences only, or most letters of each occur nowhere below.

    Args:
        first: the cells of the first row.
        below: all other rows; fewer than 20 rows of two cells can tell nothing, which returns False.
    """
    below = [row for row in below if len(row) == 2]
    if len(below) < MIN_ROWS_BELOW_HEADER or len(first) != 2 or first[0] == first[1]:
        return False
    if not all(re.fullmatch(r"[^\W\d]\w*", name) for name in first):
        return False
    columns = list(zip(*below, strict=True))
    if any(name in column for name, column in zip(first, columns, strict=True)):
        return False
    if any(all(len(text.split()) > 1 for text in column) for column in columns):
        return True
    return all(_is_strange(name, column) for name, column in zip(first, columns, strict=True))


def _is_strange(name: str, column: Sequence[str]) -> bool:
    letters = set(name)
    return 2 * len(letters - set().union(*column)) > len(letters)


def names_images(header: Sequence[str]) -> bool:
    """Tell whether a header begins with an image and names its captions or its label.

    Args:
        header: the names of the columns, at least one.
    """
    names = [name.strip().lower() for name in header]
    return names[0] in IMAGE_NAMES and not {*CAPTION_NAMES, *LABEL_NAMES}.isdisjoint(names)


def tell_labels(target: str, reading: ReadReport) -> bool | None:
    """Tell by its name whether the target is a label (True) or a caption (False); None if the name tells neither.

    Args:
        target: the name of the target's column or field.
        reading: says whether sources are images, for which alone captions are recognised.
    """
    name = target.lower()
    if reading.images and name in CAPTION_NAMES:
        return False
    return True if name in CLASS_NAMES else None


def note_fields(fields: tuple[str, str], file: Path, number: int, reading: ReadReport) -> None:
    """Report which fields were taken.

    Args:
        fields: the names of source and target.
        file: the data file.
        number: the line that shows the fields, counted from 1.
        reading: collects the report.
    """
    message = f"source is taken from {shorten(fields[0])} and target from {shorten(fields[1])}"
    reading.note(message, "name others with --fields SOURCE,TARGET", file, [number], level="note")


def list_names(names: Sequence[str]) -> str:
    """Return names in quotes for a message, eight at most.

    Args:
        names: all names; without any, `none` is returned.
    """
    shown = [shorten(name, most=MAX_SHOWN_NAME) for name in names[:MAX_LISTED_NAMES]]
    return ", ".join([*shown, "..."] if len(names) > MAX_LISTED_NAMES else shown) or "none"
