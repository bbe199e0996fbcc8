"""A table of trips that pyiceberg writes, on branches of a repository."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog


def rows(*ids):
    """Returns trips with these ids."""
    names = pa.array([f"trip {each}" for each in ids], pa.string())
    return pa.table({"id": pa.array(ids, pa.int64()), "name": names})


class Tables:
    """The catalog of a lake, as pyiceberg sees it."""

    def __init__(self, lake, server):
        self.lake = lake
        self.server = server

    def catalog(self, reference="main"):
        return load_catalog(
            "lake",
            type="rest",
            uri=f"{self.server.url}/iceberg",
            warehouse=f"{self.lake.name}/{reference}",
            credential=":".join(self.server.auth),
            **{"oauth2-server-uri": f"{self.server.url}/iceberg/v1/oauth/tokens"},
        )

    def trips(self, reference="main"):
        return self.catalog(reference).load_table("city.trips")


@pytest.fixture
def tables(lake, server):
    """A lake with the table city.trips, which has two snapshots of two and three rows."""
    tables = Tables(lake, server)
    catalog = tables.catalog()
    catalog.create_namespace("city")
    trips = catalog.create_table("city.trips", rows().schema)
    trips.append(rows(1, 2))
    trips.append(rows(3))
    return tables
