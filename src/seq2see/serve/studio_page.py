"""The page of the server: the scripts of saved pages, with a form in front."""

from collections.abc import Mapping
from importlib.resources import files

from seq2see.render.html.page import fill_page, read_script, read_style

SCRIPTS = ("client.js", "form.js", "greeting.js", "whatif.js", "studio.js")  # in the order of their dependencies
PERMITS = "; connect-src 'self'"


def render_studio(facts: Mapping[str, object]) -> str:
    """Return the page of the server as HTML.

    Args:
        facts: further values of its payload, which its script reads before its first request.
    """
    style = read_style() + _read("studio.css")
    script = read_script(*map(_read, SCRIPTS))
    return fill_page(
        {"title": "seq2see: try a run and look inside", "live": True, **facts}, style, script, permits=PERMITS
    )


def _read(name: str) -> str:
    return files("seq2see.serve").joinpath("static", name).read_text(encoding="utf-8")
