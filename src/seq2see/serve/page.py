"""The page of the server: the renderer of all pages, with a form before it."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from seq2see.inspect.page import fill_page, read_script, read_style

SCRIPTS = ("ask.js", "form.js", "whatif.js", "studio.js")  # in the order they need each other
PERMITS = "; connect-src 'self'"


def render_studio(facts: Mapping[str, Any]) -> str:
    """The page that asks this server; what it must know before it may ask goes with it."""
    style = read_style() + _read("studio.css")
    script = read_script(*map(_read, SCRIPTS))
    return fill_page({"title": "seq2see", "live": True, **facts}, style, script, permits=PERMITS)


def _read(name: str) -> str:
    return files("seq2see.serve").joinpath("static", name).read_text(encoding="utf-8")
