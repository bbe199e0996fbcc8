"""The log of a server."""

from __future__ import annotations

import json
import logging
import re
import time

import httpx2
import pytest

from anabranch.server.config.settings import Logging
from anabranch.server.observability.logs import configure_logs
from anabranch.testing.server import running_server


@pytest.fixture(autouse=True)
def as_before():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("uvicorn", "asyncio")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, was in levels.items():
        logging.getLogger(name).setLevel(was)


def written(capsys, **settings) -> str:
    configure_logs(Logging(**settings))
    log = logging.getLogger("anabranch.test")
    log.debug("steam")
    log.info("abc %d", 7)
    try:
        int("spilled")
    except ValueError:
        log.exception("coffee")
    logging.getLogger("uvicorn.error").info("of no interest")
    return capsys.readouterr().err


def test_text(capsys):
    text = written(capsys, level="INFO")
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO abc 7\n", text)
    assert "ERROR coffee\nTraceback" in text
    assert "steam" not in text
    assert "no interest" not in text


def test_json(capsys):
    lines = [
        json.loads(line) for line in written(capsys, level="DEBUG", format="json").splitlines()
    ]
    assert [line["msg"] for line in lines] == ["steam", "abc 7", "coffee"]
    assert [line["level"] for line in lines] == ["debug", "info", "error"]
    assert "ValueError: invalid literal" in lines[2]["error"]
    assert lines[0]["time"].endswith("Z")


def test_nothing(capsys):
    assert written(capsys, level="NONE") == ""


def requests_told(text):
    lines = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    return [line for line in lines if line["logger"] == "anabranch.requests"]


def test_a_line_for_each_request_and_never_its_secrets(tmp_path):
    env = {"ANABRANCH_LOGGING_FORMAT": "json", "ANABRANCH_LOGGING_AUDIT_LOG_LEVEL": "INFO"}
    with running_server(tmp_path, env=env) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            url = "/repositories/sea/refs/main/objects/stat"
            named = {"X-Request-ID": "mine-7"}
            assert api.get(url, params={"path": "secret"}, headers=named).status_code == 404
            assert api.get("/repositories").status_code == 200
        query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x&X-Amz-Signature=secret"
        gone = httpx2.get(f"{server.url}/sea/main/a?{query}", timeout=60)
        assert gone.status_code in {400, 403}
        deadline = time.monotonic() + 60
        while len(response := requests_told(server.log.read_text())) < 3:
            assert time.monotonic() < deadline  # a line comes after its answer
            time.sleep(0.05)
        text = server.log.read_text()
    assert [(line["operation_id"], line["status_code"]) for line in response[:2]] == [
        ("statObject", 404),
        ("listRepositories", 200),
    ]
    assert response[0]["request_id"] == "mine-7"
    assert response[0]["path"] == "/api/v1/repositories/sea/refs/main/objects/stat"
    assert response[0]["client"] == "127.0.0.1"
    assert 0 < response[0]["took_seconds"] < 60
    assert (response[2]["service_name"], response[2]["status_code"]) == (
        "gateway",
        gone.status_code,
    )
    assert "secret" not in text


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", ["DEBUG", "NONE"])
def test_no_line_for_a_request_unless_it_is_asked_for(tmp_path, level):
    env = {"ANABRANCH_LOGGING_AUDIT_LOG_LEVEL": level}
    with running_server(tmp_path, env=env) as server:
        assert httpx2.get(f"{server.api}/config", timeout=60).status_code == 401
        assert "/config" not in server.log.read_text()
