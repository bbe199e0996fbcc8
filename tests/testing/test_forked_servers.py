"""Servers of tests that are forked are processes like those that users start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from anabranch.child_process.descendants import children, has_ended
from anabranch.testing import forked_servers
from anabranch.testing.forked_servers import fork_server
from anabranch.testing.server import running_server


def program(words, tmp_path, **environment):
    with (tmp_path / "errors").open("w") as errors:
        return fork_server(words, {"PATH": os.defpath, **environment}, errors)


def test_process_has_the_words_environment_folder_and_streams_that_it_is_given(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("NOT_GIVEN", "1")
    monkeypatch.chdir(tmp_path)
    process = program(["serve", "--listen", "nowhere:x"], tmp_path, HOME=str(tmp_path))
    assert process.wait(60) == 1
    assert process.stdout.read() == ""
    assert "nowhere:x" in (tmp_path / "errors").read_text()
    process = program(["serve", "--listen", "127.0.0.1:0", "--data", "lake"], tmp_path)
    assert "listening on" in process.stdout.readline()
    assert Path(f"/proc/{process.pid}/cwd").resolve() == tmp_path
    assert (tmp_path / "lake").is_dir()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()


def test_exit_status_and_signals_are_those_of_the_process(tmp_path):
    first = program(["serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "a")], tmp_path)
    second = program(["serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "b")], tmp_path)
    with first.stdout, second.stdout:
        assert first.stdout.readline()
        assert second.stdout.readline()
        assert first.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0.01)
        first.kill()
        assert first.wait(60) == first.poll() == -signal.SIGKILL
        first.kill()  # has no effect
        assert second.poll() is None, "one that was forked beside it runs on"
        os.kill(second.pid, signal.SIGTERM)
        assert second.wait(60) == 0


USER = """
import os, sys
from anabranch.testing.server import running_server
with running_server(sys.argv[1]) as server:
    print(server.pid, flush=True)
    sys.stdin.read()
"""


def test_a_server_ends_when_the_process_that_uses_it_is_killed(tmp_path, eventually):
    command = [sys.executable, "-c", USER, tmp_path]
    environment = {**os.environ, "FORKED_TEST_SERVERS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as user:
        pid = int(user.stdout.readline())
        user.kill()
        assert user.wait(60) == -signal.SIGKILL
    try:
        eventually(lambda: has_ended(pid))
    finally:
        if not has_ended(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_variables_of_this_process_do_not_reach_a_server_that_is_not_given_them(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("FORKED_TEST_SERVERS", "1")
    with running_server(tmp_path / "a", env={"ANABRANCH_LOGGING_LEVEL": "DEBUG"}) as server:
        assert isinstance(server.process, forked_servers.ForkedServer)
        assert httpx2.get(f"{server.url}/_health").status_code == 200
    with running_server(tmp_path / "b") as server:
        assert "DEBUG" not in server.log.read_text()
    with running_server(tmp_path / "c", fresh=True) as server:
        assert isinstance(server.process, subprocess.Popen)


def test_fork_servers_of_libraries_are_forked_and_end_with_their_server(tmp_path, eventually):
    with running_server(tmp_path / "a") as first, running_server(tmp_path / "b") as second:
        started = [query_process(server) for server in (first, second)]
        os.kill(first.pid, signal.SIGKILL)
        # whoever has adopted it may not have asked for its exit status
        eventually(lambda: has_ended(started[0]))
        assert not has_ended(started[1])
    eventually(lambda: has_ended(started[1]))


def query_process(server):
    """Queries a repository; returns the process that stands for the one with the libraries."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert api.post("/repositories", json=body).status_code == 201
        path = "/repositories/sea/refs/main/query"
        assert api.post(path, json={"sql": "SELECT 1"}).json()["rows"] == [[1]]
    (process,) = children(server.pid)
    command = Path(f"/proc/{process}/cmdline").read_bytes()
    assert b"/libraries\0anabranch.pipelines.queries.query_process\0" in command
    return process
