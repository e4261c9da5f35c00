"""`seq2see serve`: an HTTP server with a page and an API for runs."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from seq2see.cli.messages import tell
from seq2see.cli.run_options import DeviceOption, SandboxOption
from seq2see.core.errors import Seq2SeeError
from seq2see.core.installation import say_install
from seq2see.serve.bounds import BATCH_TOKENS, Bounds

if TYPE_CHECKING:
    from seq2see.serve.handler import RequestHandler
    from seq2see.serve.middleware import App
    from seq2see.serve.model_registry import ModelRegistry
    from seq2see.serve.server import Server


RunsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders; the first is the default.")
]
FolderOption = Annotated[
    Path | None, typer.Option("--runs", help="A folder of run folders; runs that are added later are served, too.")
]
HostOption = Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0: all addresses of this computer.")]
TokenOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOKEN",
        envvar="SEQ2SEE_TOKEN",
        help="Require this bearer token; several times for a token for each client. "
        "Safer as the variable SEQ2SEE_TOKEN, with spaces between tokens.",
    ),
]
ClientRequestsOption = Annotated[int, typer.Option(min=1, help="Requests of one client at the same time.")]
CertificateOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A TLS certificate, PEM; goes with --key.")
]
KeyOption = Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate, PEM.")]
ProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS", help="A reverse proxy, whose X-Forwarded-For names the client; several times for more."
    ),
]
LogFormatOption = Annotated[
    Literal["text", "json"], typer.Option(help="text: warnings and errors; json: each request, too, as a line of JSON.")
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
    timeout: TimeoutOption = Bounds.seconds,
    queue: Annotated[int, typer.Option(min=1, help="Texts that may wait; more get status 429.")] = Bounds.queue,
    client_requests: ClientRequestsOption = Bounds.client_requests,
    batch_tokens: BatchTokensOption = BATCH_TOKENS,
    max_text: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = Bounds.text,
    max_texts: Annotated[int, typer.Option(min=1, help="Texts of a request.")] = Bounds.texts,
    max_beam: Annotated[int, typer.Option(min=1, help="Width of a beam, and outputs of a text.")] = Bounds.beam,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = Bounds.body,
    max_weights: Annotated[int, typer.Option(min=1, help="Attention weights of a response.")] = Bounds.weights,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    proxy: ProxyOption = None,
    log_format: LogFormatOption = "text",
    threads: ThreadsOption = 1,
    trust: Annotated[bool, typer.Option(help="Run the code of their own that the runs name.")] = False,
    sandbox: SandboxOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Serve runs: a page to try them and see their attention, and an API for programs.

    \b
    Examples:
      seq2see serve runs/quickstart
      SEQ2SEE_TOKEN=secret seq2see serve runs/en-de runs/other --host 0.0.0.0 --allow-host example.org
      seq2see serve --runs runs
    """
    check_arguments(runs or [], folder, token or [])
    make_app = import_application()
    from seq2see.serve.request_log import configure_log

    configure_log(log_format)
    pair = check_encryption(certificate, key)
    bounds = Bounds(
        body=max_body,
        text=max_text,
        texts=max_texts,
        beam=max_beam,
        seconds=timeout,
        queue=queue,
        weights=max_weights,
        client_requests=client_requests,
    )
    registry = load_registry(runs or [], folder, trust=trust, sandbox=sandbox, seconds=timeout, device=device)
    hosts = [host, *(allow_host or [])]
    app, handler = make_app(registry, bounds=bounds, batch_tokens=batch_tokens, tokens=token or [], hosts=hosts)
    server = make_server(app, handler, certificate=pair, proxies=proxy or [])
    run_server(server, host=host, port=port, threads=threads, protected=bool(token))


def check_encryption(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Return the files of the certificate and of its key; None if there are none.

    Args:
        certificate: the file of the certificate; None if there is none.
        key: the file of its key; None if there is none.

    Raises:
        Seq2SeeError: one of them is missing, or they do not belong together.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise Seq2SeeError("TLS needs both --certificate and --key; got one of them; add the other.")
    from seq2see.serve.server import check_certificate

    check_certificate(certificate, key)
    return certificate, key


def make_server(
    app: "App", handler: "RequestHandler", *, certificate: tuple[Path, Path] | None, proxies: Sequence[str]
) -> "Server":
    """Return the server, which does not listen yet.

    Args:
        app: the application.
        handler: the handler inside it.
        certificate: the files of a TLS certificate and of its key; None for no TLS.
        proxies: the addresses of reverse proxies.
    """
    from seq2see.serve.server import Server

    return Server(app, handler, certificate=certificate, proxies=proxies)


def run_server(server: "Server", *, host: str, port: int, threads: int, protected: bool) -> None:
    """Serve until a signal comes; a note is printed if other computers may use the server without a token.

    Args:
        server: the server.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        threads: the threads of torch.
        protected: whether clients need a token.
    """
    import torch

    from seq2see.serve.server import name_address, open_socket

    torch.set_num_threads(threads)
    listening = open_socket(host, port)
    if host not in ("127.0.0.1", "::1", "localhost") and not protected:
        tell("note: everybody who can reach this computer may use it; set SEQ2SEE_TOKEN to a token.")
    names = ", ".join(server.handler.registry.names)
    address = name_address(listening, encrypted=server.config.ssl_certfile is not None)
    typer.echo(f"serving {names} at {address} (Ctrl-C ends)", err=True)
    sys.stderr.flush()
    server.run(sockets=[listening])


def check_arguments(runs: Sequence[Path], folder: Path | None, tokens: Sequence[str]) -> None:
    """Refuse arguments that cannot be served, before heavy packages are imported.

    Args:
        runs: the run folders.
        folder: a folder of run folders; None if there is none.
        tokens: the bearer tokens.

    Raises:
        Seq2SeeError: there is nothing to serve, the folder does not exist, or the token is blank.
    """
    if not runs and folder is None:
        raise Seq2SeeError("give run folders to serve, or a folder of them with --runs.")
    if folder is not None and not folder.is_dir():
        what = "this is a file" if folder.exists() else "there is no such folder"
        raise Seq2SeeError(f"{folder}: {what}; give --runs a folder that holds run folders.")
    if not all(token.strip() for token in tokens):
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
        raise Seq2SeeError(f"serving needs {error.name}; install it with: {say_install(extra='serve')}") from None
    return make_app


def load_registry(
    runs: Sequence[Path], folder: Path | None, *, trust: bool, sandbox: bool, seconds: float, device: str = "auto"
) -> "ModelRegistry":
    """Load all runs and return their registry; a note is printed for each run that cannot be used.

    Args:
        runs: the run folders; the first is the default run.
        folder: a folder of run folders; None if there is none.
        trust: whether to run the code of their own that the runs name.
        sandbox: whether to try each run in a process with limits first.
        seconds: the longest time to wait; runs that take longer are loaded while others are served.
        device: where the models compute.

    Raises:
        Seq2SeeError: none of the runs can be used.
    """
    from seq2see.serve.model_registry import ModelRegistry
    from seq2see.system.devices import choose_device

    choose_device(device)  # one that is not there is refused once, not for every run
    registry = ModelRegistry(runs, folder, trust=trust, sandbox=sandbox, device=device)
    found = asyncio.run(registry.describe(seconds))
    unusable = [each for each in found if each.error is not None]
    broken = [each for each in unusable if not each.loading]
    if found and len(broken) == len(found):
        raise Seq2SeeError(f"{broken[0].error}")
    for each in unusable:
        tell(f"note: {each.error}")
    return registry
