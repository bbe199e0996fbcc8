"""A server for tests: a separate process on a free port, with an administrator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import anabranch
from anabranch.child_process.descendants import children
from anabranch.testing.forked_servers import ForkedServer, fork_server

__all__ = [
    "ACCESS_KEY_ID",
    "SECRET_ACCESS_KEY",
    "USER_NAME",
    "Server",
    "running_server",
    "shared_environment",
]

USER_NAME = "tester"
ACCESS_KEY_ID = "AKIAJTESTTESTTESTTEQ"
SECRET_ACCESS_KEY = "a-secret-that-is-known-to-every-test"  # noqa: S105  not a secret

_TYPE = "ANABRANCH_DATABASE_TYPE"
_CONNECTION_STRING = "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING"
_LISTENING = "listening on "
_FORKED = "FORKED_TEST_SERVERS"
_COMMAND = [sys.executable, "-m", "anabranch"]
_GRACE_SECONDS = 30


class Server(NamedTuple):
    """A running server: its address, its administrator's key pair, its (parent) process, its log
    file, and the prefix of storage namespaces for repositories of tests.
    """

    url: str
    access_key_id: str
    secret_access_key: str
    process: subprocess.Popen[str] | ForkedServer
    log: Path
    storage: str = "local://"

    @property
    def pid(self) -> int:
        """The id of its process; with several workers, of their parent."""
        return self.process.pid

    @property
    def api(self) -> str:
        """The address of its API."""
        return f"{self.url}/api/v1"

    @property
    def auth(self) -> tuple[str, str]:
        """The administrator's key pair."""
        return self.access_key_id, self.secret_access_key

    def workers(self) -> list[int]:
        """Returns the ids of its worker processes."""
        return [child for child in children(self.pid) if b"spawn_main" in _command(child)]

    def stop(self) -> int:
        """Stops the server and returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


@contextmanager
def running_server(
    data: str | os.PathLike[str],
    *,
    workers: int = 1,
    listen: str = "127.0.0.1:0",
    database: str = "",
    env: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
    source: Path | None = None,
    fresh: bool = False,
) -> Iterator[Server]:
    """Runs a server over the folder `data`, yields it when it listens, and stops it afterwards.

    `database` is the connection string of a migrated PostgreSQL database, used instead of SQLite;
    `env` is added to the environment; `within` is a command that runs the server's command, which
    is appended to it; `source` is the folder of the package, by default of this one. With `fresh`,
    or without `FORKED_TEST_SERVERS=1` in the environment, it is an interpreter of its own, as users
    start it; else it is forked, and stops sooner: see `forked_servers`. Workers beside it are
    interpreters. Raises AssertionError with the server's log if it does not start.
    """
    package_folder = str(source or Path(anabranch.__file__).parent.parent)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANABRANCH_")},
        "PYTHONPATH": os.pathsep.join(filter(None, [package_folder, os.environ.get("PYTHONPATH")])),
        "ANABRANCH_INSTALLATION_USER_NAME": USER_NAME,
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        **({_TYPE: "postgres", _CONNECTION_STRING: database} if database else {}),
        **(env or {}),
    }
    words = ["serve", "--data", str(data), "--listen", listen, "--workers", str(workers)]
    can_fork = sys.platform == "linux" and os.environ.get(_FORKED) == "1"
    fresh = fresh or bool(within or source) or not can_fork
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        process: subprocess.Popen[str] | ForkedServer
        with log.open("w") as errors:
            if fresh:
                process = _spawn([*within, *_COMMAND, *words], environment, errors)
            else:
                process = fork_server(words, environment, errors)
        try:
            url = _address(process)
            if not url:
                process.wait(_GRACE_SECONDS)
                raise AssertionError(f"the server did not start:\n{log.read_text()}")
            server = Server(url, ACCESS_KEY_ID, SECRET_ACCESS_KEY, process, log)
            yield server
            if process.poll() is None:
                server.stop()
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def shared_environment(folder: Path) -> dict[str, str]:
    """Returns the environment variables that servers with one database and separate data folders
    must share: the keys, and the path of the objects, which is `block` in `folder`.
    """
    return {
        "ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(folder / "block"),
        "ANABRANCH_BLOCKSTORE_SIGNING_SECRET_KEY": "signs-for-every-test",
        "ANABRANCH_AUTH_ENCRYPT_SECRET_KEY": "seals-for-every-test",
    }


def _command(pid: int) -> bytes:
    """Returns the command line of a process, empty if it does not exist."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _spawn(
    command: Sequence[str], environment: Mapping[str, str], errors: IO[str]
) -> subprocess.Popen[str]:
    """Starts a command with its standard error in a file."""
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
    )


def _address(process: subprocess.Popen[str] | ForkedServer) -> str:
    """Returns the address that a starting server prints, empty if it exits instead."""
    for line in process.stdout or ():
        _, separator, address = line.partition(_LISTENING)
        if separator:
            return address.strip()
    return ""
