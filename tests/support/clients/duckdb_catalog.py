"""DuckDB as a client of the Iceberg catalog, with extensions that are installed as packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import duckdb

from anabranch.testing.server import Server

__all__ = ["MISSING_EXTENSIONS", "attached_catalogs", "load_iceberg"]

_EXTENSIONS = ("httpfs", "avro", "iceberg")

MISSING_EXTENSIONS = [name for name in _EXTENSIONS if find_spec(f"duckdb_extension_{name}") is None]
"""The extensions whose packages are not installed."""


def load_iceberg(connection: duckdb.DuckDBPyConnection) -> None:
    """Loads the extensions that Iceberg needs."""
    for name in _EXTENSIONS:
        found = find_spec(f"duckdb_extension_{name}")
        assert found is not None
        assert found.submodule_search_locations
        (folder,) = found.submodule_search_locations
        (extension,) = Path(folder).glob(f"extensions/*/{name}.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")


def attached_catalogs(
    server: Server, repository: str, references: Iterable[str]
) -> duckdb.DuckDBPyConnection:
    """Returns a connection in whose catalogs `on_main` and so on are the tables of references."""
    connection = duckdb.connect()
    load_iceberg(connection)
    key, secret = server.auth
    connection.execute(
        f"CREATE SECRET keys (TYPE iceberg, CLIENT_ID '{key}', CLIENT_SECRET '{secret}', "
        f"OAUTH2_SERVER_URI '{server.url}/iceberg/v1/oauth/tokens')"
    )
    for reference in references:
        connection.execute(
            f"ATTACH '{repository}/{reference}' AS on_{reference} (TYPE iceberg, SECRET keys, "
            f"ENDPOINT '{server.url}/iceberg')"
        )
    connection.execute("SET TimeZone = 'UTC'")
    return connection
