"""A query whose client disconnects is ended, so that others can run."""

from __future__ import annotations

import httpx2
import pytest
from support.session.sizes import sized

from anabranch.testing.server import running_server

SLOW = "SELECT count(*) FROM range(100000000000) WHERE hash(range) = 0"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    env = {"ANABRANCH_QUERIES_PROCESSES": "1", "ANABRANCH_QUERIES_TIMEOUT": "10m"}
    with running_server(tmp_path_factory.mktemp("abandoned"), env=env) as server:
        yield server


def test_an_abandoned_query_frees_its_place(server):
    path = "/repositories/sea/refs/main/query"
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert api.post("/repositories", json=body).status_code == 201
        for _ in range(sized(1, weekly=3)):
            with pytest.raises(httpx2.TimeoutException):
                httpx2.post(server.api + path, json={"sql": SLOW}, auth=server.auth, timeout=1)
            # it would wait for the slow one, for ten seconds, and be refused
            response = api.post(path, json={"sql": "SELECT 1"})
            assert (response.status_code, response.json()["rows"]) == (200, [[1]])
