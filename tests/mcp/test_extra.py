"""Without the extra, or without a message, nothing of the SDK is imported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SERVES = """
import sys
from pathlib import Path
from anabranch.server.config.loader import load_settings
from anabranch.server.composition import Composition
from anabranch.http.request_head import RequestHead

composition = Composition(load_settings({"data": sys.argv[1]}, {}, None).settings)
composition.start()
print(sorted({"mcp", "mcp_types", "starlette"} & sys.modules.keys()))
sys.modules["mcp"] = None
sys.modules["mcp.server"] = None
head = RequestHead.sent("POST", "/mcp", "", {"authorization": "Basic YTpi"}, scheme="", client="")
exchange = composition.dispatcher.dispatch(head, 0)
gateway = exchange.request._gateway
gateway.admit = lambda *_: None
response = exchange.request.respond((b"{}",))
print(response.status, response.body.decode())
composition.close()
"""


def run(*words, **environment):
    command = [sys.executable, *words]
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.slow
def test_a_server_imports_the_sdk_with_the_first_message_and_says_if_it_is_missing(tmp_path):
    done = run("-c", SERVES, str(tmp_path))
    assert done.returncode == 0, done.stderr
    loaded, answer = done.stdout.splitlines()
    assert loaded == "[]"
    assert answer.startswith("501 ")
    assert "extra_missing" in answer
    assert "anabranch[mcp]" in answer


def test_the_command_says_that_the_extra_is_missing(tmp_path):
    code = (
        "import sys; sys.modules['mcp'] = None; from anabranch.cli.main import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    done = run("-c", code, "mcp", "--data", str(tmp_path))
    assert done.returncode == 1
    assert "anabranch[mcp]" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_the_command_names_what_is_wrong_with_its_options(tmp_path):
    for words, named in (
        (["--data", str(tmp_path / "none")], "no folder"),
        (["--timeout", "0"], "timeout"),
        (["--timeout", "soon"], "timeout"),
        (["--server", "ftp://x"], "ftp"),
    ):
        done = run("-m", "anabranch", "mcp", *words, HOME=str(tmp_path))
        assert done.returncode in {1, 2}, words
        assert named in done.stderr, done.stderr
        assert done.stdout == ""
