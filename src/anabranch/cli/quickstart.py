"""`anabranch quickstart`: a server, a repository with a story in it, and where to go from there.

The server is a process of its own, the same as `anabranch serve` starts. The keys are those that
lakeFS's quickstart has, so that every tutorial works as it is written.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.cli.call import Call
from anabranch.cli.command import Command, Option
from anabranch.cli.failure import Failure

__all__ = ["ACCESS_KEY_ID", "COMMAND", "SECRET_ACCESS_KEY"]

USER_NAME = "quickstart"
ACCESS_KEY_ID = "AKIAIOSFOLQUICKSTART"
SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105  known to everybody
_GRACE_SECONDS = 20
_LISTENING = "listening on "


def _run(call: Call) -> int:
    arguments, output = call.arguments, call.output
    with _server(arguments.data, arguments.listen) as (process, url):
        _play(call, url)
        for line in _directions(url, arguments.data):
            output.line(line)
        if arguments.exit:
            return 0
        output.line("Serving until Ctrl-C.")
        output.out.flush()
        try:
            return process.wait()
        except KeyboardInterrupt:
            return 0


def _play(call: Call, url: str) -> None:
    """Plays the flights story, unless the folder already has it."""
    output = call.output
    try:
        from lakefs.exceptions import LakeFSException  # noqa: PLC0415  an extra

        from anabranch.examples import flights  # noqa: PLC0415  brings pandas
    except ImportError as error:
        raise Failure(
            f"the story needs a package that is missing: {error.name}",
            hint="pip install 'anabranch[sample]'",
        ) from error
    story = flights.FlightsStory(url, ACCESS_KEY_ID, SECRET_ACCESS_KEY)
    if story.is_told():
        output.line(
            f"The repository {flights.REPOSITORY} is there already; the story is not told again."
        )
        return
    began = time.perf_counter()
    try:
        flights.play(story, lambda line, took: output.line(f"  {took:6.2f} s  {line}"))
    except (flights.StoryError, LakeFSException) as error:
        raise Failure(f"the story went wrong: {error}") from error
    output.line(f"  {time.perf_counter() - began:6.2f} s  in all")


def _directions(url: str, data: str) -> Iterator[str]:
    yield ""
    yield f"Anabranch serves {data} at {url}"
    yield f"  access key id      {ACCESS_KEY_ID}"
    yield f"  secret access key  {SECRET_ACCESS_KEY}"
    yield "These keys are known to everybody: for trying out only, never for data of your own."
    yield ""
    yield "Three things to try:"
    yield "  anabranch log lakefs://quickstart/main --graph"
    yield "  anabranch diff lakefs://quickstart/main~1 lakefs://quickstart/main"
    yield "  anabranch fs ls lakefs://quickstart/v1/flights/ --recursive"
    yield ""
    yield "The command line finds this server with:"
    yield f"  export ANABRANCH_SERVER={url}"
    yield f"  export ANABRANCH_ACCESS_KEY_ID={ACCESS_KEY_ID}"
    yield f"  export ANABRANCH_SECRET_ACCESS_KEY={SECRET_ACCESS_KEY}"


@contextmanager
def _server(data: str, listen: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Starts a server over a folder and gives its process and address; ends it afterwards."""
    environment = os.environ | {
        "ANABRANCH_INSTALLATION_USER_NAME": USER_NAME,
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "anabranch", "serve", "--data", data, "--listen", listen],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, _address(process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """Returns the address that a starting server prints. Raises Failure if it ends instead."""
    for line in process.stdout or ():
        _, found, address = line.partition(_LISTENING)
        if found:
            return address.split()[0]
    raise Failure(
        "the server did not start",
        hint="Its own words are above; is another server on that port? Try --listen 127.0.0.1:0.",
    )


COMMAND = Command(
    name="quickstart",
    summary="Start a server with a story to look at",
    run=_run,
    options=(
        Option("--data", "Keep everything in this folder", "DIR", default="anabranch-data"),
        Option("--listen", "Listen there", "HOST:PORT", default="127.0.0.1:8000"),
        Option("--exit", "End after the story instead of serving on"),
    ),
    details="Plays the flights story into the repository quickstart: a year of flights goes to "
    "main, two months are corrected on branches, both are merged, a conflict is provoked and "
    "solved, the result is tagged and read back with pandas.",
    examples=("quickstart", "quickstart --data my-lake --listen 127.0.0.1:8001"),
    connects=False,
)
