"""`fs presign` against a server that presigns URLs."""

from __future__ import annotations

import urllib.request

import pytest


@pytest.fixture
def server(presigning_server):
    return presigning_server


def test_a_presigned_url_is_read_without_credentials(ana, lake):
    lake.put("main/a b", "content")
    (url,) = ana.ok("fs", "presign", lake.at("main/a b")).lines
    with urllib.request.urlopen(url, timeout=30) as response:
        assert response.read() == b"content"
    found = ana.ok("fs", "presign", lake.at("main/a b"), "--json").json
    assert set(found) == {"url", "expires"}
    assert ana("fs", "presign", lake.at("main/none")).code == 1
