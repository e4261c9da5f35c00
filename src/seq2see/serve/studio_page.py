"""The page of the server: the same renderer as for saved pages, with a form before it."""

from collections.abc import Mapping
from importlib.resources import files

from seq2see.render.html.page import fill_page, read_script, read_style

SCRIPTS = ("client.js", "form.js", "whatif.js", "studio.js")  # in the order they need each other
PERMITS = "; connect-src 'self'"


def render_studio(facts: Mapping[str, object]) -> str:
    """The page; `facts` is what it must know before its first request."""
    style = read_style() + _read("studio.css")
    script = read_script(*map(_read, SCRIPTS))
    return fill_page({"title": "seq2see", "live": True, **facts}, style, script, permits=PERMITS)


def _read(name: str) -> str:
    return files("seq2see.serve").joinpath("static", name).read_text(encoding="utf-8")
