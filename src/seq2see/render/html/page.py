"""The page: one HTML file that holds its data, its style and its script, and loads nothing from the network."""

import base64
import hashlib
import html
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from seq2see.core.json_text import write_payload
from seq2see.core.special_tokens import SPECIAL_TOKENS, START
from seq2see.explain.attention_agreement import MEANING
from seq2see.explain.rollout import ROLLOUT
from seq2see.render.colours import DARK, DIM, LIGHT, RUNS, VEIL, WARM_DARK, WARM_LIGHT
from seq2see.render.panel import NO_ATTENTION, NO_TOKENS
from seq2see.render.token_label import EMPTY, MARKS, UNKNOWN_NOTE
from seq2see.system.files import write_atomic

STYLES = ("page.css", "report.css")
# In the order of their dependencies.
SCRIPTS = (
    *("dom.js", "words.js", "side.js", "trace.js", "fit.js", "heatmap.js", "heads.js", "arcs.js", "tree.js"),
    *("overlay.js", "agreement.js", "document.js", "beside.js", "curve.js", "lines.js", "classes.js", "report.js"),
    *("compare.js", "page.js"),
)
# The constants that the script shares with figures and terminal, so that each is defined once.
SETTINGS = {
    "light": LIGHT,
    "dark": DARK,
    "warm_light": WARM_LIGHT,
    "warm_dark": WARM_DARK,
    "marks": MARKS,
    "empty": EMPTY,
    "start": SPECIAL_TOKENS[START],
    "no_attention": NO_ATTENTION,
    "no_tokens": NO_TOKENS,
    "runs": RUNS,
    "rollout": ROLLOUT,
    "veil": VEIL,
    "dim": DIM,
    "meaning": MEANING,
    "unknown": UNKNOWN_NOTE,
}
NAMED = 60  # characters of a text in the title of its page
TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="seq2see"><noscript>Please allow scripts to see this page; it loads nothing from elsewhere.</noscript></main>
<script type="application/json" id="seq2see-payload">{payload}</script>
<script type="application/json" id="seq2see-settings">{settings}</script>
<script>{script}</script>
</body>
</html>
"""


def render_page(payload: Mapping[str, object]) -> str:
    """Return one self-contained HTML page that shows a trace, traces, a report or a comparison.

    Args:
        payload: the values to show, as `to_dict` of a trace, `pack_report` or `pack_comparison` return them, or `title`
            and `views` for traces side by side; the script tells them apart by their keys.
    """
    return fill_page(payload, read_style(), read_script())


def fill_page(payload: Mapping[str, object], style: str, script: str, *, permits: str = "") -> str:
    """Return a page of these parts, with a content security policy that runs this style and this script alone.

    Args:
        payload: the values to show, as for `render_page`.
        style: the text of the style sheet.
        script: the text of the script.
        permits: further directives of the policy, each after a semicolon, such as `; connect-src 'self'`.
    """
    return TEMPLATE.format(
        title=html.escape(name_page(payload)),
        policy=_allow_only(style, script) + permits,
        style=style,
        payload=encode_json(payload),
        settings=encode_json(SETTINGS),
        script=script,
    )


def embed_page(payload: Mapping[str, object], *, height: int) -> str:
    """Return a page in an HTML frame, for a notebook; its styles and scripts stay inside the frame.

    Args:
        payload: the values to show, as for `render_page`.
        height: the height of the frame in pixels.
    """
    page = html.escape(render_page(payload))
    return (
        f'<iframe title="attention" sandbox="allow-scripts" style="width:100%;border:0" height="{height}"'
        f' srcdoc="{page}"></iframe>'
    )


def save_page(page: str, path: Path | str) -> Path:
    """Write the page to a file in one step, and return its path.

    Args:
        page: the HTML text; lone surrogates, which UTF-8 does not have, become question marks.
        path: the file.
    """
    write_atomic(Path(path), page.encode("utf-8", errors="replace"))
    return Path(path)


def encode_json(value: object) -> str:
    """Return JSON in which <, > and & are escaped, so that it cannot end the script element around it.

    Args:
        value: plain values: mappings, sequences, texts, numbers and None.
    """
    return write_payload(value, escaped=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def read_style() -> str:
    """Return the style sheets of the page as one."""
    return "".join(map(_read_static, STYLES))


def read_script(*more: str) -> str:
    """Return all scripts of the page as one, in a scope of their own.

    Args:
        *more: texts of further scripts, which run just before the last script draws the page.
    """
    *scripts, last = map(_read_static, SCRIPTS)
    return '"use strict";\n(() => {\n' + "\n".join([*scripts, *more, last]) + "\n})();\n"


def _read_static(name: str) -> str:
    return files("seq2see.render.html").joinpath("static", name).read_text(encoding="utf-8")


def name_page(payload: Mapping[str, object]) -> str:
    """Return the title of a page: that of the payload, or what a trace leads from and to.

    Args:
        payload: the values of the page, as for `render_page`.
    """
    if payload.get("title"):
        return str(payload["title"])
    source, written = (str(payload.get(side) or "") for side in ("source", "target"))
    source = Path(source).name if payload.get("image") else source  # of an image, the path means nothing to others
    sides = [_shorten(source), _shorten(written or str(payload.get("label") or ""))]
    return " → ".join(sides) if any(sides) else "Attention weights"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= NAMED else line[:NAMED] + "…"


def _allow_only(style: str, script: str) -> str:
    """Return a policy under which the browser applies this style, runs this script, and loads nothing else."""
    hashes = (f"-src 'sha256-{_hash_text(text)}'" for text in (style, script))
    names = "; ".join(kind + rule for kind, rule in zip(("style", "script"), hashes, strict=True))
    return f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; {names}"


def _hash_text(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
