"""What `anabranch mcp` says if the server is away, or does not know its user."""

from __future__ import annotations

import socket

import pytest

from anabranch.testing.server import running_server


def environment(url, pair):
    return {
        "ANABRANCH_SERVER": url,
        "ANABRANCH_ACCESS_KEY_ID": pair[0],
        "ANABRANCH_SECRET_ACCESS_KEY": pair[1],
    }


def test_wrong_credentials_are_an_error_of_each_tool(connect, server):
    wrong = environment(server.url, (server.access_key_id, "wrong"))
    with connect["stdio"](**wrong) as session:
        assert len(session.ask("list_tools").tools) > 10
        error = session.call("list_repositories").error
        assert error["kind"] == "unauthenticated"
        assert error["hint"]


@pytest.mark.slow
def test_a_server_that_is_away_may_come_back(connect, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    listen = f"127.0.0.1:{port}"
    with running_server(tmp_path, listen=listen) as server:
        pair = server.auth
    with connect["stdio"](**environment(f"http://{listen}", pair)) as session:
        error = session.call("list_repositories").error
        assert listen in error["message"]
        assert error["hint"]
        with running_server(tmp_path, listen=listen):
            assert session.results("list_repositories") == []
