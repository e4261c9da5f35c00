"""The page: one HTML file that holds its data, its style and its script, and asks the network for nothing."""

import base64
import hashlib
import html
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from seq2see.core.files import write_atomic
from seq2see.data import tokenise
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.colour import DARK, DIM, LIGHT, RUNS, VEIL, WARM_DARK, WARM_LIGHT
from seq2see.inspect.label import EMPTY, MARKS
from seq2see.inspect.panel import NO_ATTENTION, NO_TOKENS, check_map
from seq2see.inspect.payload import write_payload
from seq2see.inspect.rollout import ROLLOUT

# In the order they need each other.
SCRIPTS = (
    *("dom.js", "words.js", "side.js", "trace.js", "heatmap.js", "heads.js", "arcs.js", "tree.js", "overlay.js"),
    *("document.js", "beside.js", "curve.js", "report.js", "compare.js", "page.js"),
)
# What the script shares with the other views, so that a colour or a mark is decided in one place.
SETTINGS = {
    "light": LIGHT,
    "dark": DARK,
    "warm_light": WARM_LIGHT,
    "warm_dark": WARM_DARK,
    "marks": MARKS,
    "empty": EMPTY,
    "start": tokenise.MARKS[tokenise.START],
    "no_attention": NO_ATTENTION,
    "no_tokens": NO_TOKENS,
    "runs": RUNS,
    "rollout": ROLLOUT,
    "veil": VEIL,
    "dim": DIM,
}
NAMED = 200  # letters of a source in the title of its page
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


def render_page(payload: Mapping[str, Any]) -> str:
    """One self-contained HTML page that shows a trace, traces, a report or a comparison, whichever the payload is."""
    return fill_page(payload, read_style(), read_script())


def fill_page(payload: Mapping[str, Any], style: str, script: str, *, permits: str = "") -> str:
    """A page of these parts; `permits` is what its policy allows besides its own style and script."""
    return TEMPLATE.format(
        title=html.escape(_name_page(payload)),
        policy=_allow_only(style, script) + permits,
        style=style,
        payload=encode_json(payload),
        settings=encode_json(SETTINGS),
        script=script,
    )


def embed_trace(trace: AttentionTrace) -> str:
    """The page of a trace in a frame, so that neither styles nor scripts leak into a notebook."""
    for each in trace.maps:
        check_map(each, trace=trace)
    return embed_page(trace.to_dict(), height=min(820, 400 + 28 * len(trace.target_tokens)))


def embed_page(payload: Mapping[str, Any], *, height: int) -> str:
    """Any page in a frame."""
    page = html.escape(render_page(payload))
    return (
        f'<iframe title="attention" sandbox="allow-scripts" style="width:100%;border:0" height="{height}"'
        f' srcdoc="{page}"></iframe>'
    )


def save_page(page: str, path: Path | str) -> Path:
    """Write the page to a file in one step."""
    write_atomic(Path(path), page.encode("utf-8", errors="replace"))
    return Path(path)


def encode_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return write_payload(value, escaped=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def read_style() -> str:
    """The style sheet of the page."""
    return _read_static("page.css")


def read_script(*more: str) -> str:
    """All scripts of the page as one, with `more` before the last, hidden from other scripts of the document."""
    *scripts, last = map(_read_static, SCRIPTS)
    return '"use strict";\n(() => {\n' + "\n".join([*scripts, *more, last]) + "\n})();\n"


def _read_static(name: str) -> str:
    return files("seq2see.inspect").joinpath("static", name).read_text(encoding="utf-8")


def _name_page(payload: Mapping[str, Any]) -> str:
    written = payload.get("target", payload.get("label", ""))
    return str(payload.get("title") or f"{str(payload.get('source', ''))[:NAMED]} → {written}")


def _allow_only(style: str, script: str) -> str:
    """A policy under which the browser runs this very script, this very style and nothing else."""
    hashes = (f"-src 'sha256-{_hash_text(text)}'" for text in (style, script))
    names = "; ".join(kind + rule for kind, rule in zip(("style", "script"), hashes, strict=True))
    return f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; {names}"


def _hash_text(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
