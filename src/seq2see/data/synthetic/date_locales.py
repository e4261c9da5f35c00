"""How often each of many locales writes a date, and how, beyond what CLDR says of it."""

import re

# How often each locale writes, in thousandths: English, which most people will try, has 400.
_SHARES = """
en_US:170 en_GB:120 en_AU:40 en_IN:35 en_CA:35 de:62 de_AT:10 de_CH:6 fr:62 fr_CA:12 es:60 es_MX:10 it:36 pt:20
pt_BR:24 nl:30 sv:13 da:10 nb:10 fi:9 pl:15 cs:10 sk:6 sl:6 ro:9 hu:9 bg:6 el:9 tr:12 ru:18 uk:10 ca:7 id:12
vi:9 ja:16 zh_Hans:16 zh_Hant:8 ko:12 hi:10 ar:10 fa:5 he:5
"""
LOCALES = tuple(re.findall(r"(\w+):", _SHARES))
WEIGHTS = [int(share) for share in re.findall(r":(\d+)", _SHARES)]

# A template names its fields as CLDR does; {th} is the day as an ordinal, {nth} spelled out, {LLL} a month short and
# undotted, {R} a month as a Roman number, {time} any time of day, {zone} that of a clock; {hy}, {hM} and {hd} are in
# Chinese numerals.
_INFORMAL = """
en: {th} of {MMMM} {y} | the {th} of {MMMM}, {y} | the {th} of {MMMM} {y} | {th} {MMMM} {y} | {MMMM} {th} {y} |
{MMMM} {th}, {y} | {MMMM} the {th} {y} | {MMMM} the {th}, {y} | {EEEE} the {th} of {MMMM} {y} | {d} of {MMMM} {y} |
{EEEE}, {MMMM} {th}, {y} | {MMMM} {d} {y} | {MMMM} {d}, {y} | {d} {MMMM} {y} | {d} {MMMM}, {y} | {y} {MMMM} {d} |
{E} {d} {MMM} {y} | {E} {MMM} {d} {y} | {E}, {d} {MMM} {y} | on {MMMM} {d}, {y} | {MMM} {d} {y} | {d} {MMM} {y} |
{E} {MMM} {d} {time} {y} | {E} {MMM} {d} {time} {zone} {y} | {E}, {dd} {MMM} {y} {time} {zone} |
{dd}/{LLL}/{y}:{time} {zone} | the {nth} of {MMMM} {y} | {nth} of {MMMM}, {y} | {MMMM} {nth}, {y};
de: am {d}. {MMMM} {y} | den {d}. {MMMM} {y} | der {d}. {MMMM} {y} | {EEEE}, den {d}. {MMMM} {y} | {d}. {LLL} {y} |
{E} {d}. {MMM} {y} | {d}.{MMMM} {y}; nl: op {d} {MMMM} {y} | {EEEE}, {d} {MMMM} {y} | {d} {LLL} {y};
fr: le {d} {MMMM} {y} | le {EEEE} {d} {MMMM} {y} | {th} {MMMM} {y} | le {th} {MMMM} {y} | {d} {LLL} {y};
es: el {d} de {MMMM} de {y} | {d} de {MMMM} del {y} | {d} de {MMMM}, {y} | {th} de {MMMM} de {y} | {d} {MMMM} {y} |
{EEEE} {d} de {MMMM} de {y} | {d} de {MMM} de {y} | el {EEEE} {d} de {MMMM} de {y};
it: il {d} {MMMM} {y} | {th} {MMMM} {y} | il {th} {MMMM} {y} | {d} {MMMM} del {y} | {EEEE}, {d} {MMMM} {y} |
{d}.{R}.{y};
pt: {d} {MMMM} {y} | em {d} de {MMMM} de {y} | dia {d} de {MMMM} de {y} | {th} de {MMMM} de {y} | {d} {LLL} {y};
sv: den {d} {MMMM} {y} | {EEEE} den {d} {MMMM} {y}; da: den {d}. {MMMM} {y}; nb: den {d}. {MMMM} {y} |
{EEEE} den {d}. {MMMM} {y}; pl: {d} {MMMM} {y} r. | {d} {MMMM} {y} roku |
{d} {R} {y} | {d}.{R}.{y}; cs: dne {d}. {MMMM} {y} |
{d}. {MMMM} roku {y}; sk: dňa {d}. {MMMM} {y} | {d}. {MMMM} roku {y}; ro: pe {d} {MMMM} {y} | {EEEE} {d} {MMMM} {y};
hu: {y} {MMMM} {d} | {y}. {MMM} {d} | {y}.{MM}.{dd}. | {y}. {R}. {d}.; bg: {d} {MMMM} {y} | {d} {MMMM} {y} година;
el: στις {d} {MMMM} {y} | {EEEE}, {d} {MMMM} {y}; ru: {d} {MMMM} {y} | {d} {MMMM} {y} года | {d} {LLL} {y} |
{EEEE} {d} {MMMM} {y}; uk: {d} {MMMM} {y} | {d} {MMMM} {y} року | {EEEE} {d} {MMMM} {y}; ca: el {d} {MMMM} de {y} |
{d} {MMMM} de {y}; id: {E} {d} {MMM} {y} | tanggal {d} {MMMM} {y}; vi: ngày {d} {MMMM} năm {y} | {d} {MMMM} năm {y} |
{EEEE}, ngày {d} {MMMM} năm {y}; ja: {y}年{MM}月{dd}日 | {y}年 {M}月 {d}日 | {y}年{M}月{d}日（{E}） |
{hy}年{hM}月{hd}日;
zh_Hans: {y}年{MM}月{dd}日 | {y}年{M}月{d}号 | {y} 年 {M} 月 {d} 日 | {hy}年{hM}月{hd}日 |
{y}年{hM}月{hd}日; zh_Hant: {y}年{MM}月{dd}日 | {y}年{M}月{d}號 | {hy}年{hM}月{hd}日 | {y}年{hM}月{hd}日;
ko: {y}년 {M}월 {d}일 | {y}년{M}월{d}일 | {y}년 {MM}월 {dd}일; ar: {EEEE} {d} {MMMM} {y} | يوم {EEEE} {d} {MMMM} {y}
"""
TEMPLATES = {
    row.partition(":")[0].strip(): tuple(" ".join(cell.split()) for cell in row.partition(":")[2].split("|"))
    for row in _INFORMAL.split(";")
}
COMPACT = ("{d}-{LLL}-{y}", "{dd}-{LLL}-{y}", "{dd}/{LLL}/{y}", "{d}{LLL}{y}", "{dd}{LLL}{y}", "{y}-{LLL}-{dd}")
STAMPS = ("{y}:{MM}:{dd} {time}", "{y}_{MM}_{dd}")  # of cameras and files
NEVER_COMPACT = ("fi", "hu", "vi", "ja", "zh", "ko", "hi", "ar", "fa", "he")

# Babel lends one locale's inherited stand-alone names to the next, so only locales that own theirs are asked.
OWN_WIDE = ("fi", "pl", "cs", "sk", "el", "ru", "uk", "ca", "fa")
OWN_SHORT = ("de", "de_AT", "nb", "el", "ru", "ca")
DOTTED = ("en", "es", "it", "nl")  # CLDR leaves out the dot that people often put
MORE_SHORT = {("en", 6): "June", ("en", 7): "July", ("en", 9): "Sept", ("de", 3): "Mrz", ("fr", 7): "juill"}
MORE_SHORT |= {("es", 9): "sep", ("it", 9): "sett", ("ru", 2): "фев", ("ru", 9): "сен", ("ru", 11): "ноя"}
DIGITS = {"ar": ("٠١٢٣٤٥٦٧٨٩", 0.5), "fa": ("۰۱۲۳۴۵۶۷۸۹", 0.7), "hi": ("०१२३४५६७८९", 0.3)}
DIGITS |= dict.fromkeys(("ja", "zh_Hans", "zh_Hant"), ("０１２３４５６７８９", 0.1))
ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
CHINESE = "〇一二三四五六七八九"
ROMAN = re.findall(r"\w+", "I II III IV V VI VII VIII IX X XI XII")
SPELLED = re.findall(
    r"\w+",
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth""",
)
SPELLED += [*(f"twenty-{word}" for word in SPELLED[:9]), "thirtieth", "thirty-first"]
FIRSTS = {"fr": "1er", "es": "1º", "it": "1º", "pt": "1º"}
# between a date and a time of day
AT = {"en": " at ", "de": " um ", "fr": " à ", "es": " a las ", "it": " alle ", "nl": " om "}
ZONES = ("+0000", "+0200", "-0500", "+0530", "GMT", "UTC", "EST", "PST", "CET", "CEST", "GMT+0100 (CET)")
