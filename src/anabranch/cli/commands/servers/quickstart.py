"""`anabranch quickstart`: a server and a sample repository with a history.

The server is a separate process, started as `anabranch serve` starts it, and ends with this one.
The keys are those of lakeFS's quickstart, so that its tutorials work unchanged.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Self
from urllib.parse import urlencode

from anabranch.cli.commands.servers.sample_repository import create_sample
from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.client.authorization import basic_authorization
from anabranch.client.rest_client import RestClient
from anabranch.examples.lakes import REPOSITORY

__all__ = ["ACCESS_KEY_ID", "COMMAND", "SECRET_ACCESS_KEY"]

USER_NAME = "quickstart"
ACCESS_KEY_ID = "AKIAIOSFOLQUICKSTART"
SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105  public
_GRACE_SECONDS = 20
_LISTENING = "listening on "
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _run(context: CommandContext) -> int:
    arguments, output = context.arguments, context.output
    with _server(arguments.data, arguments.listen) as (process, url):
        for line in _welcome(url, str(Path(arguments.data).resolve())):
            output.line(line)
        output.out.flush()
        folder = create_sample(output, url, ACCESS_KEY_ID, SECRET_ACCESS_KEY)
        for line in _directions(url, folder):
            output.line(line)
        if arguments.exit:
            return 0
        output.line("")
        output.line("This address signs a browser in, once and within five minutes:")
        output.line(f"  {_sign_in_link(url)}")
        if not arguments.no_open and output.terminal and _has_display(context.environment):
            # of its own: the printed one still works, should no window appear
            webbrowser.open(_sign_in_link(url))
        output.line("Serving until Ctrl-C.")
        output.out.flush()
        try:
            return process.wait()
        except KeyboardInterrupt:
            return 0


def _sign_in_link(url: str) -> str:
    """Returns the address of a page that signs in once. Its secret is in the fragment, which
    browsers send to no server. Other users of this machine may see it among the arguments of a
    browser: to them it is worth what the keys are, which are public.
    """
    client = RestClient(url, basic_authorization(ACCESS_KEY_ID, SECRET_ACCESS_KEY))
    try:
        link = client.send("POST", "auth", "links")
    finally:
        client.close()
    page = f"/repositories/{REPOSITORY}/objects"
    fields = {"user": link["username"], "code": link["code"], "next": page}
    return f"{url}/auth/link#{urlencode(fields)}"


def _has_display(environment: Mapping[str, str]) -> bool:
    """Returns whether a browser can show a window, as far as the environment says."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def _welcome(url: str, data: str) -> Iterator[str]:
    yield f"Open {url} in a browser, and sign in with these keys:"
    yield f"  access key id      {ACCESS_KEY_ID}"
    yield f"  secret access key  {SECRET_ACCESS_KEY}"
    yield "They are public: use them for trials only, never with your own data."
    yield f"The server keeps everything in {data}. It creates a sample repository now:"


def _directions(url: str, folder: str) -> Iterator[str]:
    command = _command()
    yield ""
    yield "In another terminal, the command line finds this server with:"
    yield f"  export ANABRANCH_SERVER={url}"
    yield f"  export ANABRANCH_ACCESS_KEY_ID={ACCESS_KEY_ID}"
    yield f"  export ANABRANCH_SECRET_ACCESS_KEY={SECRET_ACCESS_KEY}"
    yield ""
    yield "Then three things to try:"
    yield f"  {command} log lakefs://quickstart/main --graph"
    yield f"  {command} diff lakefs://quickstart/main~1 lakefs://quickstart/main"
    yield f"  {command} fs ls lakefs://quickstart/v1/{folder} --recursive"


def _command() -> str:
    """Returns the command line of this installation as a shell finds it from any folder."""
    script = Path(sys.executable).with_name("anabranch")
    if script.is_file():
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m anabranch"


class _Interruption:
    """Context in which the first signal that ends a process raises KeyboardInterrupt, as Ctrl-C
    does, and later ones are ignored. Until `allow` is called, the signal waits. Signals that the
    process ignores already, as below `nohup`, stay ignored.
    """

    def __init__(self) -> None:
        self._is_allowed = False
        self._has_come = False
        self._before: dict[int, Any] = {}

    def allow(self) -> None:
        """Lets a signal interrupt, and raises KeyboardInterrupt if one has come."""
        self._is_allowed = True
        if self._has_come:
            raise KeyboardInterrupt

    def _receive(self, _number: int, _frame: FrameType | None) -> None:
        is_first, self._has_come = not self._has_come, True
        if is_first and self._is_allowed:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING_SIGNALS:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@contextmanager
def _server(data: str, listen: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Starts a server on a folder, gives its process and address, and stops it afterwards, also
    when a signal ends this process.
    """
    environment = os.environ | {
        "ANABRANCH_INSTALLATION_USER_NAME": USER_NAME,
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        # the web interface uploads long files in parts, and copies links to objects
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true",
    }
    with _Interruption() as interruption:
        process = subprocess.Popen(
            [sys.executable, "-m", "anabranch", "serve", "--data", data, "--listen", listen],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            interruption.allow()
            yield process, _address(process)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """Returns the address that a starting server prints. Raises Failure if the server stops
    instead.
    """
    for line in process.stdout or ():
        _, found, address = line.partition(_LISTENING)
        if found:
            return address.split()[0]
    raise Failure(
        "the server did not start",
        hint="Its output is above. If another server uses that port, try --listen 127.0.0.1:0.",
    )


COMMAND = Command(
    name="quickstart",
    summary="Start a server with a sample repository",
    run=_run,
    options=(
        Option("--data", "Keep everything in this folder", "DIR", default="anabranch-data"),
        Option("--listen", "The address to listen on", "HOST:PORT", default="127.0.0.1:8000"),
        Option("--no-open", "Do not open a browser"),
        Option("--exit", "Exit after creating the sample repository"),
    ),
    details="Creates the repository quickstart with a sample history: a year of flights goes to "
    "main, two months are corrected on branches, both are merged, a conflict occurs and is "
    "resolved, and the result is tagged and read with pandas. Without `pip install "
    "'anabranch[sample]'` it is a smaller one, of rivers. Then the web interface is opened in "
    "a browser, if there is a terminal and a display, by an address that signs in once; another "
    "one is printed.",
    examples=("quickstart", "quickstart --data my-lake --listen 127.0.0.1:8001"),
    connects=False,
)
