"""What `connect` connects to: its arguments, the environment and files; what it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.session.forked_python import forked_python

import anabranch
from anabranch import aio
from anabranch.errors import Busy, Invalid, NotFound, Unauthenticated


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    for name in ("SERVER", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "TOKEN", "CONFIG_FILE"):
        monkeypatch.delenv(f"ANABRANCH_{name}", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(params=[anabranch.connect, aio.connect], ids=["connect", "aio"])
def connect(request):
    return request.param


def test_settings_come_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("ANABRANCH_SERVER", f"{server.url}/api/v1/")
    monkeypatch.setenv("ANABRANCH_ACCESS_KEY_ID", server.access_key_id)
    monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", server.secret_access_key)
    with anabranch.connect() as lake:
        lake.repositories.list(amount=1)
        assert repr(lake) == f"RemoteLake('{server.url}')"
    with (
        anabranch.connect(access_key_id="x", secret_access_key="y") as lake,
        pytest.raises(Unauthenticated),
    ):
        lake.repositories.list(amount=1)


def test_settings_come_from_the_file_of_a_login(server, tmp_path):
    folder = tmp_path / ".config" / "anabranch"
    folder.mkdir(parents=True)
    command = [
        *(forked_python(), "-m", "anabranch", "login", "--server", server.url),
        *("--access-key-id", server.access_key_id),
    ]
    subprocess.run(command, input=server.secret_access_key, text=True, check=True, timeout=200)
    with anabranch.connect() as lake:
        assert lake._client.url == server.url
        lake.repositories.list(amount=1)


def test_settings_come_from_lakectl(server, tmp_path):
    (tmp_path / ".lakectl.yaml").write_text(
        f"credentials:\n  access_key_id: {server.access_key_id}\n"
        f"  secret_access_key: {server.secret_access_key}\n"
        f"server:\n  endpoint_url: {server.url}\n"
    )
    with anabranch.connect() as lake:
        lake.repositories.list(amount=1)


def test_a_token_replaces_a_key_pair(server):
    with anabranch.connect(server.url, *server.auth) as lake:
        credentials = dict(zip(("access_key_id", "secret_access_key"), server.auth, strict=True))
        token = lake._client.send("POST", "auth", "login", body=credentials)["token"]
    with anabranch.connect(server.url, token=token) as lake:
        lake.repositories.list(amount=1)


@pytest.mark.parametrize("url", ["lake", "./lake", "/data/lake", "C:\\lake", "localhost:8000"])
def test_a_folder_is_not_connected_to(connect, url):
    with pytest.raises(Invalid, match="is not the address of a server") as refused:
        connect(url)
    assert refused.value.kind == "not_an_address"
    assert "anabranch.open" in refused.value.hint


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://key:secret@host", "s3://bucket"])
def test_a_wrong_address_is_refused(connect, url):
    with pytest.raises(Invalid) as refused:
        connect(url)
    assert refused.value.kind == "invalid_settings"
    assert refused.value.where == "url"
    assert "secret@" not in refused.value.message


def test_half_of_a_pair_is_refused(connect):
    with pytest.raises(Invalid, match="secret_access_key is not"):
        connect("http://127.0.0.1:1", "key")


def test_a_server_that_is_away_is_named(unused_tcp_port):
    with anabranch.connect(f"http://127.0.0.1:{unused_tcp_port}", "a", "b") as lake:
        with pytest.raises(Busy, match=f"cannot reach http://127.0.0.1:{unused_tcp_port}") as away:
            lake.branches.create("sea", "dev", "main")
        assert (away.value.kind, type(away.value)) == ("unreachable", Busy)


def test_nothing_is_sent_before_it_is_used(connect):
    assert "127.0.0.1:1'" in repr(connect("http://127.0.0.1:1", "a", "secret"))
    assert "secret" not in repr(connect("http://127.0.0.1:1", "a", "secret"))


def test_a_client_imports_neither_stores_nor_the_library():
    probe = (
        "import anabranch, sys; anabranch.connect('http://127.0.0.1:1', 'a', 'b'); "
        "import anabranch.aio; print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=200
    )
    modules = set(ran.stdout.split())
    heavy = {"anabranch.library", "anabranch.versioning", "anabranch.catalog", "anabranch.blocks"}
    assert not modules & (heavy | {"anabranch._kernel", "pandas", "httpx", "httpx2"})


def test_a_closed_lake_opens_connections_again(server):
    lake = anabranch.connect(server.url, *server.auth)
    lake.close()
    with pytest.raises(NotFound):
        lake.repositories.get("nowhere")
    assert lake._client._transport._idle == []
