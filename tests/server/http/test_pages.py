"""Pages outside of the API."""

from __future__ import annotations

import httpx2
import pytest

from anabranch.rest.table import EXTENSIONS, OPERATIONS


@pytest.fixture
def web(shared_server):
    with httpx2.Client(base_url=shared_server.server.url) as client:
        yield client


def test_a_page_says_what_this_is(web):
    answer = web.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "Anabranch" in answer.text
    assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/nope", "/repositories/x", "/api", "/api/v2/x"])
def test_unknown_paths_respond_with_a_404_page(web, path):
    answer = web.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", ["iceberg/api/v1/x", "iceberg/relative_to/x", "mds/iceberg/api/x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_what_only_the_enterprise_edition_has(web, method, path):
    answer = web.request(method, f"/{path}")
    assert answer.status_code == 501
    assert answer.text == "Not Implemented\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_openapi_document_is_served(web):
    document = web.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    ours = {operation.path for operation in EXTENSIONS} - {each.path for each in OPERATIONS}
    assert document["paths"].keys() >= ours
    assert len(document["paths"]) - len(ours) == 91, "lakeFS has 91 paths"
