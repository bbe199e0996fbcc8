"""Servers as processes: several workers, two servers on one folder, starting and stopping."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from support.eventually import eventually
from support.stored_files import open_stored_files

from anabranch.testing.server import running_server

REPOSITORY = {"name": "sea", "storage_namespace": "local://sea"}


def client(server):
    return httpx2.Client(base_url=server.api, auth=server.auth, timeout=30)


def upload(server, number, branch="main"):
    with client(server) as api:
        url = f"/repositories/sea/branches/{branch}/objects"
        return api.post(url, params={"path": f"o{number:03}"}, content=b"x").status_code


@pytest.mark.slow
def test_two_servers_on_one_folder_serve_the_same_data(tmp_path):
    with (
        running_server(tmp_path) as one,
        running_server(tmp_path) as two,
        client(one) as first,
        client(two) as second,
    ):
        assert first.post("/repositories", json=REPOSITORY).status_code == 201
        assert second.get("/repositories/sea").status_code == 200
        servers = [one, two] * 30
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert set(pool.map(upload, servers, range(60))) == {201}
        listed = [
            [o["path"] for o in api.get("/repositories/sea/refs/main/objects/ls").json()["results"]]
            for api in (first, second)
        ]
        assert listed == [[f"o{number:03}" for number in range(60)]] * 2
        url = "/repositories/sea/branches/main/commits"
        assert second.post(url, json={"message": "all"}).status_code == 201
        assert first.get("/repositories/sea/branches/main/diff").json()["results"] == []
        login = {"access_key_id": one.access_key_id, "secret_access_key": one.secret_access_key}
        token = first.post("/auth/login", json=login).json()["token"]
        bearer = {"authorization": f"Bearer {token}"}
        assert httpx2.get(f"{two.api}/repositories", headers=bearer).status_code == 200
        address = first.get(
            "/repositories/sea/branches/main/staging/backing", params={"path": "a"}
        ).json()["physical_address"]
        stored = Path(address.removeprefix("local://"))
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(b"1")
        body = {"staging": {"physical_address": address}, "checksum": "c", "size_bytes": 1}
        linked = second.put(
            "/repositories/sea/branches/main/staging/backing", params={"path": "a"}, json=body
        )
        assert linked.status_code == 200


@pytest.mark.slow
def test_workers_share_a_socket(tmp_path):
    with running_server(tmp_path, workers=2) as server:
        with client(server) as api:
            assert api.post("/repositories", json=REPOSITORY).status_code == 201
        eventually(lambda: len(server.workers()) == 2)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert set(pool.map(upload, [server] * 40, range(40))) == {201}
        with client(server) as api:
            page = api.get("/repositories/sea/refs/main/objects/ls").json()
        assert page["pagination"]["results"] == 40


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.sample(1)
def test_running_requests_complete_before_a_server_stops(tmp_path, workers):
    with running_server(tmp_path, workers=workers, fresh=True) as server:
        with client(server) as api:
            api.post("/repositories", json=REPOSITORY)

        def is_stored():
            processes = server.workers() or [server.pid]
            return any(open_stored_files(each, tmp_path / "block") for each in processes)

        def slowly():
            yield b"a" * 200_000
            eventually(is_stored)
            os.kill(server.pid, signal.SIGTERM)
            time.sleep(0.5)
            yield b"b" * 100_000

        with client(server) as api:
            url = "/repositories/sea/branches/main/objects"
            created = api.post(url, params={"path": "slow"}, content=slowly())
        assert created.status_code == 201
        server.process.wait(60)
        address = urlsplit(server.url)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.hostname, address.port))
    with running_server(tmp_path) as restarted, client(restarted) as api:
        stat = api.get("/repositories/sea/refs/main/objects/stat", params={"path": "slow"})
        assert stat.json()["size_bytes"] == 300_000


@pytest.mark.slow
def test_acknowledged_writes_survive_a_kill(tmp_path):
    with running_server(tmp_path) as server:
        with client(server) as api:
            api.post("/repositories", json=REPOSITORY)
            for number in range(10):
                assert upload(server, number) == 201
            url = "/repositories/sea/branches/main/commits"
            commit = api.post(url, json={"message": "ten"}).json()["id"]
            assert upload(server, 10) == 201
        os.kill(server.pid, signal.SIGKILL)
        server.process.wait()
    with running_server(tmp_path) as restarted, client(restarted) as api:
        assert api.get("/repositories/sea/branches/main").json()["commit_id"] == commit
        page = api.get("/repositories/sea/refs/main/objects/ls").json()
        assert page["pagination"]["results"] == 11


def failure(folder, **options) -> str:
    """Returns the output of a server that fails to start."""
    with pytest.raises(AssertionError) as caught, running_server(folder, **options):
        pass
    return str(caught.value)


def test_an_address_in_use_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        output = failure(tmp_path, listen=f"127.0.0.1:{port}")
    assert f"cannot listen on 127.0.0.1:{port}" in output
    assert "Traceback" not in output


def test_invalid_settings_are_refused(tmp_path):
    output = failure(tmp_path, env={"ANABRANCH_BLOCKSTORE_LOCAL_PTH": "x"})
    assert "ANABRANCH_BLOCKSTORE_LOCAL_PATH" in output
    assert "Traceback" not in output
    output = failure(tmp_path, workers=2, env={"ANABRANCH_DATABASE_TYPE": "mem"})
    assert "cannot be shared by several workers" in output


def test_a_data_folder_that_is_a_file_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("abc")
    output = failure(file)
    assert "Traceback" not in output
    assert str(file) in output


def test_a_server_with_stores_in_memory_commits_and_reads(tmp_path):
    env = {"ANABRANCH_DATABASE_TYPE": "mem", "ANABRANCH_BLOCKSTORE_TYPE": "mem"}
    with running_server(tmp_path, env=env) as server, client(server) as api:
        body = {"name": "sea", "storage_namespace": "mem://sea"}
        assert api.post("/repositories", json=body).status_code == 201
        assert upload(server, 1) == 201
        assert (
            api.post("/repositories/sea/branches/main/commits", json={"message": "x"}).status_code
            == 201
        )
        response = api.get("/repositories/sea/refs/main/objects", params={"path": "o001"})
        assert response.content == b"x"


def test_a_client_can_set_up_a_new_installation_once(tmp_path):
    names = ("USER_NAME", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    env = {f"ANABRANCH_INSTALLATION_{name}": "" for name in names}
    with running_server(tmp_path, env=env) as server, httpx2.Client(base_url=server.api) as api:
        assert api.get("/setup_lakefs").json()["state"] == "not_initialized"
        assert api.get("/repositories", auth=server.auth).status_code == 401
        assert api.post("/setup_lakefs", json={"username": ""}).status_code == 400
        created = api.post("/setup_lakefs", json={"username": "anna"})
        assert created.status_code == 200
        assert sorted(created.json()) == ["access_key_id", "creation_date", "secret_access_key"]
        assert api.get("/setup_lakefs").json()["state"] == "initialized"
        auth = (created.json()["access_key_id"], created.json()["secret_access_key"])
        assert api.get("/user", auth=auth).json()["user"]["id"] == "anna"
        assert api.post("/setup_lakefs", json={"username": "otto"}).status_code == 409
