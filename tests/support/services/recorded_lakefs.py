"""The installation that lakeFS 1.84.0 wrote: its database, its objects and its responses.

`tests/data/lakefs-1.84-database/README.md` describes the files.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from support.services.postgres import Cluster, postgres_programs

__all__ = [
    "ACCESS_KEY_ID",
    "ENCRYPT_KEY",
    "SECRET_ACCESS_KEY",
    "USER_NAME",
    "expected",
    "load_database",
    "recorded_rows",
    "rows",
    "unpack_blocks",
]

USER_NAME = "captain"
ACCESS_KEY_ID = "AKIAJRECORDEDKEYSAAQ"
SECRET_ACCESS_KEY = "recorded-secret-of-no-account"
ENCRYPT_KEY = "recorded-encryption-key"

DATA = Path(__file__).parents[2] / "data" / "lakefs-1.84-database"


def load_database(cluster: Cluster) -> str:
    """Loads the recorded database, tables and all, and returns its connection string."""
    url = cluster.url(cluster.make_database())
    programs = postgres_programs()
    assert programs is not None
    subprocess.run(
        [programs / "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", url],
        input=gzip.decompress((DATA / "database.sql.gz").read_bytes()),
        check=True,
    )
    return url


def recorded_rows() -> list[tuple[str, bytes, bytes]]:
    """Returns the partition, the key and the value of all rows of the recorded database."""
    lines = gzip.decompress((DATA / "database.sql.gz").read_bytes()).decode().splitlines()
    columns = [line.split("\t") for line in lines if line.startswith(r"\\x")]
    values = [[bytes.fromhex(column[3:]) for column in row] for row in columns]
    return [(partition.decode(), key, value) for partition, key, value in values]


def unpack_blocks(folder: Path) -> Path:
    """Unpacks the folder of objects (lakeFS's `blockstore.local.path`) and returns it."""
    with tarfile.open(fileobj=io.BytesIO((DATA / "blocks.tar.gz").read_bytes())) as tar:
        tar.extractall(folder, filter="data")
    return folder


def expected() -> dict[str, Any]:
    """Returns lakeFS's responses about each repository, by name."""
    responses: dict[str, Any] = json.loads(
        gzip.decompress((DATA / "expected.json.gz").read_bytes())
    )
    return responses


def rows(cluster: Cluster, url: str) -> list[Any]:
    """Returns all rows of a database's table, in order."""
    with cluster.connect(url.rsplit("/", 1)[1]) as connection:
        return connection.execute("SELECT * FROM kv ORDER BY partition_key, key").fetchall()
