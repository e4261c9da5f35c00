"""`seq2see serve`: an HTTP server with a page and an API for runs."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.core.errors import Seq2SeeError

if TYPE_CHECKING:
    from seq2see.serve.handler import RequestHandler
    from seq2see.serve.middleware import App
    from seq2see.serve.model_registry import ModelRegistry


RunsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders; the first is the default.")
]
FolderOption = Annotated[
    Path | None, typer.Option("--runs", help="A folder of run folders; runs that are added later are served, too.")
]
HostOption = Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0: all addresses of this computer.")]
TokenOption = Annotated[
    str | None,
    typer.Option(envvar="SEQ2SEE_TOKEN", help="Require this bearer token; safer as the variable SEQ2SEE_TOKEN."),
]
AllowHostOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A host name of this computer; several times for more.")
]
TimeoutOption = Annotated[
    float, typer.Option(min=0.1, help="Seconds that a request may take, with its time in the queue.")
]
BatchTokensOption = Annotated[
    int, typer.Option(min=0, help="Source tokens times hypotheses that are decoded together; 0: every text alone.")
]
ThreadsOption = Annotated[
    int, typer.Option(min=1, help="Cores that the model uses; small models are fastest with one.")
]


def serve(
    runs: RunsArgument = None,
    folder: FolderOption = None,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    token: TokenOption = None,
    allow_host: AllowHostOption = None,
    timeout: TimeoutOption = 30.0,
    queue: Annotated[int, typer.Option(min=1, help="Texts that may wait; more get status 429.")] = 512,
    batch_tokens: BatchTokensOption = 4096,
    max_text: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = 5_000,
    max_texts: Annotated[int, typer.Option(min=1, help="Texts of a request.")] = 64,
    max_beam: Annotated[int, typer.Option(min=1, help="Width of a beam, and outputs of a text.")] = 16,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 12_000_000,
    max_weights: Annotated[int, typer.Option(min=1, help="Attention weights of a response.")] = 4_000_000,
    threads: ThreadsOption = 1,
    trust: Annotated[bool, typer.Option(help="Run the code of their own that the runs name.")] = False,
) -> None:
    """Serve runs: a page to try them and see their attention, and an API for programs.

    \b
    Examples:
      seq2see serve runs/quickstart
      SEQ2SEE_TOKEN=secret seq2see serve runs/en-de runs/other --host 0.0.0.0 --allow-host example.org
      seq2see serve --runs runs
    """
    check_arguments(runs or [], folder, token)
    make_app = import_application()
    from seq2see.serve.requests import Bounds

    bounds = Bounds(
        body=max_body,
        text=max_text,
        texts=max_texts,
        beam=max_beam,
        seconds=timeout,
        queue=queue,
        weights=max_weights,
    )
    registry = load_registry(runs or [], folder, trust=trust, seconds=timeout)
    hosts = [host, *(allow_host or [])]
    app, handler = make_app(registry, bounds=bounds, batch_tokens=batch_tokens, token=token, hosts=hosts)
    run_server(app, handler, host=host, port=port, threads=threads, protected=token is not None)


def run_server(app: "App", handler: "RequestHandler", *, host: str, port: int, threads: int, protected: bool) -> None:
    """Serve until a signal comes; a note is printed if other computers may use the server without a token.

    Args:
        app: the application.
        handler: the handler inside it.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        threads: the threads of torch.
        protected: whether clients need a token.
    """
    import torch

    from seq2see.serve.server import Server, name_address, open_socket

    torch.set_num_threads(threads)
    listening = open_socket(host, port)
    if host not in ("127.0.0.1", "::1", "localhost") and not protected:
        typer.echo("note: everybody who can reach this computer may use it; set SEQ2SEE_TOKEN to a token.", err=True)
    names = ", ".join(handler.registry.names)
    typer.echo(f"serving {names} at {name_address(listening)} (Ctrl-C ends)", err=True)
    sys.stderr.flush()
    Server(app, handler).run(sockets=[listening])


def check_arguments(runs: Sequence[Path], folder: Path | None, token: str | None) -> None:
    """Refuse arguments that cannot be served, before heavy packages are imported.

    Args:
        runs: the run folders.
        folder: a folder of run folders; None if there is none.
        token: the bearer token; None if there is none.

    Raises:
        Seq2SeeError: there is nothing to serve, the folder does not exist, or the token is blank.
    """
    if not runs and folder is None:
        raise Seq2SeeError("give run folders to serve, or a folder of them with --runs.")
    if folder is not None and not folder.is_dir():
        what = "this is a file" if folder.exists() else "there is no such folder"
        raise Seq2SeeError(f"{folder}: {what}; give --runs a folder that holds run folders.")
    if token is not None and not token.strip():
        raise Seq2SeeError("the token must not be blank, or anybody could give it; set one, or leave it out.")


def import_application() -> "Callable[..., tuple[App, RequestHandler]]":
    """Return `make_app`, the function that builds the application.

    Raises:
        Seq2SeeError: a package that serving needs is not installed.
    """
    try:
        import uvicorn  # noqa: F401

        from seq2see.serve.application import make_app
    except ModuleNotFoundError as error:
        raise Seq2SeeError(f"serving needs {error.name}; install it with: pip install 'seq2see[serve]'") from None
    return make_app


def load_registry(runs: Sequence[Path], folder: Path | None, *, trust: bool, seconds: float) -> "ModelRegistry":
    """Load all runs and return their registry; a note is printed for each run that cannot be used.

    Args:
        runs: the run folders; the first is the default run.
        folder: a folder of run folders; None if there is none.
        trust: whether to run the code of their own that the runs name.
        seconds: the longest time to wait; runs that take longer are loaded while others are served.

    Raises:
        Seq2SeeError: none of the runs can be used.
    """
    from seq2see.serve.model_registry import ModelRegistry

    registry = ModelRegistry(runs, folder, trust)
    found = asyncio.run(registry.describe(seconds))
    unusable = [each for each in found if each.error is not None]
    broken = [each for each in unusable if not each.loading]
    if found and len(broken) == len(found):
        raise Seq2SeeError(f"{broken[0].error}")
    for each in unusable:
        typer.echo(f"note: {each.error}", err=True)
    return registry
