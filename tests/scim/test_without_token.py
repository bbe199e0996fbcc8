"""SCIM is off without a token, and a short token is refused."""

from __future__ import annotations

import httpx2
import pytest

from anabranch.errors import Invalid
from anabranch.server.config.loader import load_settings
from anabranch.testing.server import running_server


def test_without_a_token_there_is_no_scim(tmp_path):
    with running_server(tmp_path) as server:
        for token in ("", "any"):
            headers = {"authorization": f"Bearer {token or 'x'}"}
            response = httpx2.get(f"{server.url}/scim/v2/Users", headers=headers)
            assert response.status_code == 404


def test_a_short_token_is_refused(tmp_path):
    with pytest.raises(Invalid, match=r"shorter than 16 characters"):
        load_settings({"auth.scim.token": "short"}, {}, folder=tmp_path)
