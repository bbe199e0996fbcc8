"""What tools do is in the logs as what the REST API does, with the caller and the request."""

from __future__ import annotations

import json
import re

import httpx2
import pytest

import anabranch
from anabranch.testing.server import running_server

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


@pytest.fixture
def audited(tmp_path):
    """A server with an audit log, and the file of that."""
    file = tmp_path / "audit.log"
    env = {"ANABRANCH_AUDIT_FILE": str(file), "ANABRANCH_MCP_WRITE": "true"}
    with running_server(tmp_path / "lake", env=env) as server:
        yield server, file


def test_tools_are_recorded_with_user_and_workspace(audited, connect):
    server, file = audited
    with anabranch.connect(server.url, *server.auth) as lake:
        lake.repositories.create("sea")
    with connect["http"](server, server.auth) as session:
        asked = {"repository": "sea", "writable": ["out/**"], "purpose": "a test"}
        workspace = session.call("create_workspace", **asked).data["id"]
        place = {"repository": "sea", "workspace": workspace}
        assert not session.call("write_object", **place, path="out/a", content="1").is_error
    refused = httpx2.post(
        f"{server.url}/mcp", json=PING, auth=(server.access_key_id, "wrong"), timeout=60
    )
    assert refused.status_code == 401
    metrics = httpx2.get(f"{server.url}/metrics", timeout=60).text
    counted = re.findall(
        r'api_request_duration_seconds_count{code="(\d+)",operation="mcp"}', metrics
    )
    assert {"200", "401"} <= set(counted)
    server.stop()
    records = [json.loads(line) for line in file.read_text().splitlines()]
    (created,) = [each for each in records if each.get("operation") == "createWorkspace"][-1:]
    assert created["user"] == "tester"
    (written,) = [
        each
        for each in records
        if each.get("operation") == "uploadObject" and each["event"] == "change"
    ]
    assert (written["user"], written["workspace"]) == ("tester", workspace)
    assert written["source_ip"] == "127.0.0.1"
    assert written["request_id"]
    (failed,) = [each for each in records if each.get("gateway") == "mcp"]
    assert (failed["reason"], failed["access_key_id"]) == ("unauthenticated", server.access_key_id)
    log = server.log.read_text()
    assert "session manager" not in log
    assert "Traceback" not in log
