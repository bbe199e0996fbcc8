"""Pages outside of the API."""

from __future__ import annotations

import httpx2
import pytest

from anabranch.rest.table import EXTENSIONS, OPERATIONS


@pytest.fixture
def web(shared_server):
    with httpx2.Client(base_url=shared_server.server.url) as client:
        yield client


def test_the_root_is_the_page_of_anabranch(web):
    response = web.get("/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "Anabranch" in response.text
    assert "server" not in response.headers


@pytest.mark.parametrize("path", ["/nope", "/repositories/x", "/api", "/api/v2/x"])
def test_unknown_paths_respond_with_a_404_page(web, path):
    response = web.get(path)
    assert response.status_code == 404
    assert response.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", ["mds/iceberg/api/x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_paths_of_the_enterprise_edition_respond_with_501(web, method, path):
    response = web.request(method, f"/{path}")
    assert response.status_code == 501
    assert response.text == "Not Implemented\n"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_openapi_document_is_served(web):
    document = web.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    extensions = {operation.path for operation in EXTENSIONS} - {each.path for each in OPERATIONS}
    assert document["paths"].keys() >= extensions
    assert len(document["paths"]) - len(extensions) == 91, "lakeFS has 91 paths"
