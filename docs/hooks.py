"""What the site makes while it is built: equations as MathML, and pages from the package, the examples and the root.

Nothing of it is stored, so none of it can be out of date, and no page loads anything from a network.
"""

import html
import logging
import posixpath
import re
import runpy
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.hooks")  # with --strict, its warnings are errors
ROOT = Path(__file__).parent.parent
EQUATION = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.DOTALL)
# signs and commands that the converter does not know, and passes on as they are
UNKNOWN_LATEX = re.compile(r"<m[ion]\b[^>]*>(&(?:amp;|#x0*26;)?|\\\w+)</m[ion]>")
NORM = "<mo>&#x02016;</mo>"  # the bars of a norm, which would grow with their line
# a function before something without brackets, such as log p
FUNCTION = re.compile(r"(<mi>(?:exp|log|tanh|sin|cos)</mi>)(?=<m(?!o\b|row><mo\b))")
THIN_SPACE = '<mspace width="0.1667em"></mspace>'
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(?=[)#])")
# files of the repository that are pages of the site, too
COPIES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples/index.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files.

    Args:
        files: the files of `docs/`.
        config: the configuration of the site.
    """
    pages = {target: (ROOT / source).read_text(encoding="utf-8") for source, target in COPIES.items()}
    pages |= {f"examples/{name}.md": text for name, text in write_examples().items()}
    pages |= {
        "reference/commands.md": write_commands(),
        "reference/parts.md": write_parts(),
        "reference/presets.md": write_presets(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links between files of the repository to the pages that these files have here.

    Args:
        markdown: the text of the page.
        page: the page.
        config: the configuration of the site.
        files: all files of the site.
    """
    here = page.file.src_uri
    places = {target: source for source, target in COPIES.items()}
    folder = posixpath.dirname(places.get(here, f"docs/{here}"))

    def redirect(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        script = re.fullmatch(r"(examples/\w+)\.(?:py|ipynb)", path)
        target = COPIES.get(path) or (
            f"{script[1]}.md" if script and files.get_file_from_path(f"{script[1]}.md") else ""
        )
        if not target and path.startswith("docs/"):
            target = path.removeprefix("docs/")
        return posixpath.relpath(target, posixpath.dirname(here) or ".") if target else link[1]

    return LINK.sub(redirect, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn equations into MathML, which browsers draw without a script.

    Args:
        content: the page as HTML.
        page: the page.
        config: the configuration of the site.
        files: all files of the site.
    """

    return draw_equations(content, page.file.src_uri)


def draw_equations(content: str, name: str) -> str:
    """A page with its equations as MathML; what cannot be drawn in one is a warning, which `--strict` makes an error.

    Args:
        content: the page as HTML.
        name: the name of the page, for the warning.
    """

    def draw(equation: re.Match[str]) -> str:
        block = equation[3] is not None
        latex = html.unescape(equation[3] if block else equation[2])
        drawn = convert(latex, display="block" if block else "inline")
        if unknown := UNKNOWN_LATEX.search(drawn):
            LOG.warning("%s: an equation has %s, which cannot be drawn: %s", name, unknown[1], latex.strip())
        return FUNCTION.sub(r"\1" + THIN_SPACE, drawn.replace(NORM, NORM.replace("<mo>", '<mo stretchy="false">')))

    return EQUATION.sub(draw, content)


def escape(text: str) -> str:
    """A plain text as Markdown: code between backticks stays code, and all other signs are kept as they are."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part[:1] == "`" else escape_signs(part) for part in parts)


def escape_signs(text: str) -> str:
    """A plain text as Markdown, in which the signs that Markdown or HTML would read are written out."""
    return re.sub(r"([*_\\`\[\]])", r"\\\1", html.escape(text, quote=False))


def write_examples() -> dict[str, str]:
    """The example scripts as pages, by name: their cells of text, and their cells of code."""
    converter = runpy.run_path(str(ROOT / "examples" / "make_notebooks.py"))
    scores = (ROOT / "examples" / "own_scores.py").read_text(encoding="utf-8")
    pages = {"own_scores": f"# own_scores.py\n\nThe scores that two examples import.\n\n```python\n{scores}\n```"}
    for script in converter["list_scripts"]():
        cells = converter["split_cells"](script.read_text(encoding="utf-8"))
        blocks = [text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells]
        pages[script.stem] = "\n\n".join([*blocks, f"This page is the script `examples/{script.name}`."])
    return pages


def write_commands() -> str:
    """The help of every command."""
    import typer

    from seq2see.cli.app import app

    group = typer.main.get_command(app)
    pages = ["# Commands", "Each command prints the same text with `--help`."]
    with typer.Context(group, info_name="seq2see") as parent:
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            assert command is not None
            with typer.Context(command, info_name=name, parent=parent) as context:
                pages += [f"## seq2see {name}", *write_command(command.help or "", command.get_params(context))]
    return "\n\n".join(pages)


def write_command(text: str, parameters: list[Any]) -> list[str]:
    """The paragraphs of a command: what it does, examples, and its arguments and options."""
    about, _, examples = text.partition("\b\n")
    shown = [each for each in parameters if not getattr(each, "hidden", False) and each.name != "help"]
    entries = [f"- {name_parameter(each)}: {escape(getattr(each, 'help', None) or '')}" for each in shown]
    commands = [line.strip() for line in examples.splitlines() if line.startswith("  ")]
    blocks = [escape(" ".join(about.split()))]
    if commands:
        blocks.append("```sh\n" + "\n".join(commands) + "\n```")
    return [*blocks, "\n".join(entries)]


def name_parameter(parameter: Any) -> str:
    """All names of an option, or the name of an argument."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def write_parts() -> str:
    """Every part that a configuration can name, with its options."""
    from seq2see.core.part_docs import describe_part
    from seq2see.core.part_table import TABLE
    from seq2see.core.registry import names

    pages = [
        "# Parts",
        "A configuration names each part, as `{kind: NAME, option: value}`. `seq2see parts` prints the same list, with "
        "the parts that installed packages add.",
    ]
    for group in TABLE:
        if group == "renderer":
            continue  # no configuration names one
        pages.append(f"## {group}")
        for kind in names(group):
            part = describe_part(group, kind)
            options = [
                f"- `{each.name}` ({link_type(each.type)}; "
                f"{f'default `{each.default}`' if each.default else 'required'}): {escape(each.meaning)}"
                for each in part.options
            ]
            pages += [f"### {group}: {kind}", escape(part.summary), "\n".join(options)]
    return "\n\n".join(pages)


def link_type(name: str) -> str:
    """The type of an option, or a link to the group of parts that it takes."""
    group = re.fullmatch(r"see `seq2see parts (\w+)`", name)
    return f"a [{group[1]}](#{group[1]})" if group else f"`{name}`"


def write_presets() -> str:
    """Every preset as it stands, with its command and the score to expect."""
    from seq2see.config.load import preset_names, preset_text

    pages = ["# Presets", "A preset is the configuration of a paper. `seq2see presets NAME` prints the same."]
    for name in preset_names():
        pages += [f"## {name}", f"```yaml\n{preset_text(name).rstrip()}\n```"]
    return "\n\n".join(pages)
