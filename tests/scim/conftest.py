"""A server with SCIM, and a client of it."""

from __future__ import annotations

import httpx2
import pytest

from anabranch.testing.server import running_server

TOKEN = "token-of-an-identity-provider"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    env = {"ANABRANCH_AUTH_SCIM_TOKEN": TOKEN}
    with running_server(tmp_path_factory.mktemp("scim"), env=env) as running:
        # who has shown the token once is not locked out by wrong ones, which some tests send
        shown = {"authorization": f"Bearer {TOKEN}"}
        assert httpx2.get(f"{running.url}/scim/v2/Users", headers=shown).status_code == 200
        yield running


@pytest.fixture(scope="session")
def scim(server):
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/scim+json"}
    with httpx2.Client(base_url=f"{server.url}/scim/v2", headers=headers, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def api(server):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client:
        yield client
