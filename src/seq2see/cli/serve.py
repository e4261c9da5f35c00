"""`seq2see serve`: a page and an API for runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.core.errors import Seq2SeeError

if TYPE_CHECKING:
    from seq2see.serve.shelf import Shelf


def serve(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders; the first is asked by default.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--runs", help="A folder of run folders; those that come later appear by themselves.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for everybody who can reach this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    token: Annotated[
        str | None, typer.Option(envvar="SEQ2SEE_TOKEN", help="Ask for this bearer token; better set SEQ2SEE_TOKEN.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which this machine may be asked; several times for more."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a request may take, the waiting included.")
    ] = 30.0,
    queue: Annotated[int, typer.Option(min=1, help="Texts that may wait; more are told to come back later.")] = 512,
    batch_tokens: Annotated[
        int,
        typer.Option(min=0, help="Source tokens, times hypotheses, that are decoded together; 0: every text alone."),
    ] = 4096,
    max_text: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = 5_000,
    max_texts: Annotated[int, typer.Option(min=1, help="Texts of a request.")] = 64,
    max_beam: Annotated[int, typer.Option(min=1, help="Width of a beam, and outputs of a text.")] = 16,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 12_000_000,
    max_weights: Annotated[int, typer.Option(min=1, help="Attention weights of an answer.")] = 4_000_000,
    threads: Annotated[
        int, typer.Option(min=1, help="Cores that the model uses; small ones are quicker with one.")
    ] = 1,
    trust: Annotated[bool, typer.Option(help="Run the code of their own that the runs name.")] = False,
) -> None:
    """Serve runs: a page to try them and look inside, and an API for programs.

    \b
    Examples:
      seq2see serve runs/quickstart
      SEQ2SEE_TOKEN=secret seq2see serve runs/en-de runs/other --host 0.0.0.0 --allow-host example.org
      seq2see serve --runs runs
    """
    if not runs and folder is None:
        raise Seq2SeeError("give run folders to serve, or a folder of them with --runs.")
    if folder is not None and not folder.is_dir():
        what = "this is a file" if folder.exists() else "there is no such folder"
        raise Seq2SeeError(f"{folder}: {what}; give --runs a folder that holds run folders.")
    if token is not None and not token.strip():
        raise Seq2SeeError("the token must not be blank, or anybody could give it; set one, or leave it out.")
    try:
        import uvicorn  # noqa: F401

        from seq2see.serve.app import make_app
    except ModuleNotFoundError as error:
        raise Seq2SeeError(f"serving needs {error.name}; install it with: pip install 'seq2see[serve]'") from None
    import torch

    from seq2see.serve.schema import Bounds
    from seq2see.serve.server import Server, name_address, open_socket
    from seq2see.serve.shelf import Shelf

    torch.set_num_threads(threads)
    bounds = Bounds(
        body=max_body,
        text=max_text,
        texts=max_texts,
        beam=max_beam,
        seconds=timeout,
        queue=queue,
        weights=max_weights,
    )
    shelf = open_shelf(Shelf(runs or [], folder, trust))
    app, desk = make_app(shelf, bounds=bounds, budget=batch_tokens, token=token, hosts=[host, *(allow_host or [])])
    listening = open_socket(host, port)
    if host not in ("127.0.0.1", "::1", "localhost") and token is None:
        typer.echo(
            "note: everybody who can reach this machine may ask; set SEQ2SEE_TOKEN to ask for a token.", err=True
        )
    typer.echo(f"serving {', '.join(shelf.names())} at {name_address(listening)} (Ctrl-C ends)", err=True)
    sys.stderr.flush()
    Server(app, desk).run(sockets=[listening])


def open_shelf(shelf: "Shelf") -> "Shelf":
    """Load all runs; those that cannot be used are named and left, unless there is no other."""
    found = shelf.describe()
    broken = [each["error"] for each in found if "error" in each]
    if found and len(broken) == len(found):
        raise Seq2SeeError(broken[0])
    for sentence in broken:
        typer.echo(f"note: {sentence}", err=True)
    return shelf
