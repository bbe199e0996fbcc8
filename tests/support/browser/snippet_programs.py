"""Where the programs of snippets run: with a home of their own, and a user's keys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO

from anabranch.testing.server import Server
from support.session.forked_python import program_path

__all__ = ["SnippetInterpreter", "running_interpreter", "snippet_environment"]

_EXTENSIONS = ("httpfs", "avro", "iceberg")
_PROGRAM = """
import contextlib, io, json, sys, traceback
for line in sys.stdin:
    outputs = []
    for text in json.loads(line):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            try:
                exec(compile(text, "snippet", "exec"), {})
            except BaseException:
                traceback.print_exc(file=sys.stdout)
        outputs.append(output.getvalue())
    print(json.dumps(outputs), flush=True)
"""


class SnippetInterpreter:
    """A Python that runs snippets one after another, which imports are made in once."""

    def __init__(self, asked: IO[str], answered: IO[str]) -> None:
        self._asked = asked
        self._answered = answered

    def outputs_of(self, snippets: list[str]) -> list[str]:
        """Returns what each snippet prints, and the traceback of its error."""
        self._asked.write(json.dumps(snippets) + "\n")
        self._asked.flush()
        answer = self._answered.readline()
        assert answer, "Python has ended: its error is among the output"
        outputs: list[str] = json.loads(answer)
        assert len(outputs) == len(snippets)
        return outputs


@contextmanager
def running_interpreter(environment: dict[str, str]) -> Iterator[SnippetInterpreter]:
    """Runs a Python in the home of an environment."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-W", "error::SyntaxWarning", "-c", _PROGRAM],
        env=environment,
        cwd=environment["HOME"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield SnippetInterpreter(process.stdin, process.stdout)
        process.stdin.close()


def snippet_environment(server: Server, home: Path) -> dict[str, str]:
    """Returns the variables that hold the keys, of a home whose DuckDB has its extensions."""
    platform = subprocess.run(
        [sys.executable, "-c", "import duckdb; print(*duckdb.sql('PRAGMA platform').fetchone())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    for name in _EXTENSIONS:
        folder = Path(str(files(f"duckdb_extension_{name}")))
        (extension,) = folder.glob(f"extensions/*/{name}.duckdb_extension")
        place = home / ".duckdb/extensions" / extension.parent.name / platform
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(extension, place)
    return {
        "HOME": str(home),
        "PATH": program_path(),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
        "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
    }
