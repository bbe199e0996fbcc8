"""A server, repositories on it, and pyiceberg as the client of its Iceberg catalog."""

from __future__ import annotations

import itertools

import httpx2
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from anabranch.testing.server import running_server

_numbers = itertools.count(1)


class Lake:
    """A repository of a server with one namespace, `city`, on its branch main."""

    def __init__(self, server, name=None, *, url=""):
        self.server = server
        self.url = url or server.url
        self.name = name or f"ice-{next(_numbers)}"
        self.api = httpx2.Client(base_url=f"{self.url}/api/v1", auth=server.auth, timeout=60)
        self.http = httpx2.Client(base_url=f"{self.url}/iceberg", auth=server.auth, timeout=60)
        if name is None:
            body = {"name": self.name, "storage_namespace": f"local://{self.name}"}
            assert self.api.post("/repositories", json=body).status_code == 201
            self.post("main", "/namespaces", {"namespace": ["city"]})

    def catalog(self, reference="main", keys=None, **properties):
        """Returns pyiceberg's catalog of a reference."""
        return load_catalog(
            "lake",
            type="rest",
            uri=f"{self.url}/iceberg",
            warehouse=f"{self.name}/{reference}",
            credential=":".join(keys or self.server.auth),
            **properties,
        )

    def path(self, reference, path):
        return f"/v1/{self.name}/{reference}{path}"

    def post(self, reference, path, body, *, status=200, **headers):
        response = self.http.post(self.path(reference, path), json=body, headers=headers)
        assert response.status_code == status, response.text
        return response

    def branch(self, name, source="main"):
        body = {"name": name, "source": source}
        assert self.api.post(f"{self.root}/branches", json=body).status_code == 201
        return self.catalog(name)

    def tag(self, name, reference="main"):
        body = {"id": name, "ref": reference}
        assert self.api.post(f"{self.root}/tags", json=body).status_code == 201

    def merge(self, source, destination="main"):
        return self.api.post(f"{self.root}/refs/{source}/merge/{destination}", json={})

    def messages(self, reference="main"):
        log = self.api.get(f"{self.root}/refs/{reference}/commits").json()["results"]
        return [commit["message"] for commit in log]

    @property
    def root(self):
        return f"/repositories/{self.name}"


def trips(*ids):
    """Returns rows of a table of trips."""
    names = pa.array([f"trip {number}" for number in ids], pa.string())
    return pa.table({"id": pa.array(ids, pa.int64()), "name": names})


def ids(table):
    """Returns the ids of a table's rows, as pyiceberg reads them."""
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("iceberg")) as running:
        yield running


@pytest.fixture
def lake(server):
    return Lake(server)


@pytest.fixture
def table(lake):
    """A table of trips with two rows on main."""
    table = lake.catalog().create_table("city.trips", trips().schema)
    table.append(trips(1, 2))
    return table
