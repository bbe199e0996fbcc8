"""A real PostgreSQL server for tests: Debian's, in a folder and on a port of its own.

It runs with the defaults, so everything is synced to disk as in earnest. PostgreSQL refuses to
run as root; there, the user `postgres` that Debian makes runs it. Its folder is a kept one, so
that neither server nor folder outlives the test that made them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from anabranch.child_process.descendants import children, has_ended
from support.services.ending import end
from support.services.guarded_tmpdir import kept_folder
from support.session.free_port import free_port

__all__ = ["PASSWORD", "Cluster", "clear", "postgres_programs", "running_cluster"]

PASSWORD = "known-to-every-test"

_START_SECONDS = 60
_SETTINGS = {"shared_buffers": "32MB", "max_connections": "100", "log_min_messages": "warning"}


def postgres_programs() -> Path | None:
    """Returns the folder of PostgreSQL's programs, or None where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return Path(path).parent if path else None


class Cluster:
    """A PostgreSQL server over `folder`, on `port` of 127.0.0.1, that is started, stopped and
    killed at will. Its superuser is `postgres`.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._as = {"user": "postgres", "group": "postgres", "extra_groups": ()}
            shutil.chown(folder, "postgres", "postgres")
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.port = free_port()
        self._make()

    def url(self, database: str = "postgres", *, port: int | None = None) -> str:
        """Returns the connection string of a database; of another port, if a proxy is there."""
        return f"postgres://postgres:{PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    @property
    def pid(self) -> int:
        """The id of its first process. Raises AssertionError while it does not run."""
        assert self._process is not None
        return self._process.pid

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """Returns a connection over which every statement is a transaction of its own."""
        return psycopg.connect(self.url(database), autocommit=True)

    def make_database(self, template: str = "template1") -> str:
        """Copies the database `template`, to which there must be no connection, and returns the
        name of the copy. PostgreSQL's own template is empty.
        """
        self._databases += 1
        name = f"test_{self._databases}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return name

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        command = [str(self._programs / "postgres"), "-D", str(self._data)]
        options = [f"-cport={self.port}", "-cunix_socket_directories="]
        options += [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options], stdout=log, stderr=log, cwd=self._folder, **self._as
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError(f"PostgreSQL did not start:\n{self.log()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stops the server in order: it breaks off what is in flight and ends at once."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kills all its processes with SIGKILL; it recovers at the next start."""
        if self._process is None:
            return
        process = self._process.pid
        self._process.send_signal(signal.SIGSTOP)  # it must not clean up after its processes
        # it may start another one until it stops; its status is left for `wait`
        os.waitid(os.P_PID, process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        killed = children(process)
        for child in killed:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        while not all(map(has_ended, killed)):  # it would not start while one has its memory
            time.sleep(0.01)
        self._end(signal.SIGKILL)

    def kill_backend(self, pid: int) -> None:
        """Kills one process of the server with SIGKILL, for which the server restarts itself."""
        os.kill(pid, signal.SIGKILL)

    def log(self) -> str:
        """Returns the server's log."""
        return (self._folder / "log").read_text(errors="replace")

    def _make(self) -> None:
        password = self._folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        subprocess.run(
            [
                self._programs / "initdb",
                f"--pgdata={self._data}",
                "--username=postgres",
                "--auth=scram-sha-256",
                f"--pwfile={password}",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--no-instructions",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
            **self._as,
        )

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        end(process, number)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Runs a new PostgreSQL server; ends it and removes its folder afterwards.

    Raises FileNotFoundError where PostgreSQL is not installed.
    """
    programs = postgres_programs()
    if programs is None:
        raise FileNotFoundError("PostgreSQL is not installed: `make components` does that")
    with kept_folder() as folder:
        cluster = Cluster(programs, folder)
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()


def clear(url: str) -> None:
    """Removes all keys of a migrated database but its version."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM kv WHERE partition_key <> 'kv-internal-metadata'")
