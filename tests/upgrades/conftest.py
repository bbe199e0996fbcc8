"""Installations that earlier versions have written."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.session.forked_python import forked_python
from upgrades.installation import DATA, DUMP

from anabranch.testing.server import running_server

WRITTEN = Path(__file__).parent / "written"


class Installation(NamedTuple):
    """The folder of data that a version has written, the connection string of the database with its
    records, "" for one in the folder, and what its server said of it.
    """

    data: Path
    database: str
    record: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """What names the database to a command."""
        if not self.database:
            return dict(os.environ)
        return {
            **os.environ,
            "ANABRANCH_DATABASE_TYPE": "postgres",
            "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": self.database,
        }

    def running_server(self):
        """Runs a server of this version over it."""
        return running_server(self.data, database=self.database)

    def run(self, *words):
        """Runs a command over it."""
        command = [forked_python(), "-m", "anabranch", *words, "--data", str(self.data)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=300, env=self.environment
        )


def _versions():
    """The folders of versions; those with a database need PostgreSQL."""
    for archive in sorted(WRITTEN.glob(f"*/{DATA}")):
        has_database = (archive.parent / DUMP).exists()
        marks = pytest.mark.systems if has_database else ()
        yield pytest.param(archive.parent, marks=marks, id=archive.parent.name)


@pytest.fixture(params=_versions())
def written(request, tmp_path):
    folder = request.param
    with tarfile.open(folder / DATA) as archive:
        archive.extractall(tmp_path, filter="data")
    database = ""
    if (folder / DUMP).exists():
        cluster = request.getfixturevalue("postgres_cluster")
        name = cluster.make_database()
        with cluster.connect(name) as connection:
            connection.execute(statements(folder / DUMP))
        database = cluster.url(name)
    record = json.loads((folder / "observed.json").read_text())
    installation = Installation(tmp_path / "data", database, record)
    if database:  # which names the folder where the objects were
        adopted = installation.run("migrate", "--adopt")
        assert adopted.returncode == 0, adopted.stderr
    return installation


def statements(dump: Path) -> bytes:
    """What a dump makes, without the settings of the connection, which differ by the version of
    PostgreSQL, and the words to psql.
    """
    lines = lzma.decompress(dump.read_bytes()).splitlines()
    settings = (b"SET ", b"SELECT pg_catalog.set_config", b"\\")
    return b"\n".join(line for line in lines if not line.startswith(settings))
