"""What a server writes about itself."""

from __future__ import annotations

import json
import logging
import re

import pytest

from anabranch.server.logs import configure_logs
from anabranch.server.settings import Logging


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
    log.info("tea %d", 7)
    try:
        int("spilled")
    except ValueError:
        log.exception("coffee")
    logging.getLogger("uvicorn.error").info("of no interest")
    return capsys.readouterr().err


def test_text(capsys):
    text = written(capsys, level="INFO")
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO tea 7\n", text)
    assert "ERROR coffee\nTraceback" in text
    assert "steam" not in text
    assert "no interest" not in text


def test_json(capsys):
    lines = [
        json.loads(line) for line in written(capsys, level="DEBUG", format="json").splitlines()
    ]
    assert [line["msg"] for line in lines] == ["steam", "tea 7", "coffee"]
    assert [line["level"] for line in lines] == ["debug", "info", "error"]
    assert "ValueError: invalid literal" in lines[2]["error"]
    assert lines[0]["time"].endswith("Z")


def test_nothing(capsys):
    assert written(capsys, level="NONE") == ""
