"""Spark in a process of its own, which runs statements: a Python process has one session, and the
other tests share theirs.

    python spark_process.py SOCKET

The parent listens on the socket, and sends settings, the folders of jars and of temporary files,
and then statements; each is answered by its rows as tuples, or by the text of its error.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from support.services.spark import spark_session

__all__ = ["Sql", "spark_sql"]

Sql = Callable[[str], list[tuple[Any, ...]]]
_KEY = b"of the tests"


@contextmanager
def spark_sql(settings: Mapping[str, str], *, jars: Path, folder: Path) -> Iterator[Sql]:
    """Yields what runs a statement, and returns its rows."""
    path = folder / "s"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Listener(str(path), authkey=_KEY) as listener:
        process = subprocess.Popen([sys.executable, __file__, str(path)], env=environment)
        try:
            with listener.accept() as connection:
                connection.send((dict(settings), jars, folder))
                yield lambda text: _ask(connection, text)
                connection.send(None)
                process.wait(120)
        finally:
            process.kill()
            process.wait()


def _ask(connection: Connection, text: str) -> list[tuple[Any, ...]]:
    connection.send(text)
    rows, error = connection.recv()
    assert not error, error
    return rows


def main() -> None:
    with Client(sys.argv[1], authkey=_KEY) as connection:
        settings, jars, folder = connection.recv()
        with spark_session(settings, jars=jars, folder=folder) as session:
            while (text := connection.recv()) is not None:
                try:
                    rows = [tuple(row) for row in session.sql(text).collect()]
                    connection.send((rows, ""))
                except Exception as error:  # noqa: BLE001  it is raised in the test
                    connection.send(([], str(error) or repr(error)))


if __name__ == "__main__":
    main()
