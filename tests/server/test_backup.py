"""What `docs/deploy.md` says of backups: taken while the server is written to, then restored."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
import time

import httpx2
import pytest

from anabranch.blocks.local.paths import TEMPORARY
from anabranch.library import DATABASE_FILE
from anabranch.testing.server import running_server

BRANCH = "/repositories/sea/branches/main"


def client(server):
    return httpx2.Client(base_url=server.api, auth=server.auth, timeout=60)


def write(server, acknowledged, stop):
    with client(server) as api:
        number = 0
        while not stop.is_set():
            content = b"%d" % number
            put = api.post(f"{BRANCH}/objects", params={"path": f"{number}"}, content=content)
            assert put.status_code == 201
            if number % 20 == 19:
                assert api.post(f"{BRANCH}/commits", json={"message": "m"}).status_code == 201
            number += 1
            acknowledged.append(number)


def back_up(folder, backup):
    (backup / "metadata").mkdir(parents=True)
    source = sqlite3.connect(folder / "metadata" / DATABASE_FILE)
    copy = sqlite3.connect(backup / "metadata" / DATABASE_FILE)
    source.backup(copy)
    source.close()
    copy.close()
    for name in ("block", "keys"):
        command = ["cp", "-r", str(folder / name), str(backup / name)]
        environment = {**os.environ, "LC_ALL": "C"}
        copied = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        )
        unexpected = [line for line in copied.stderr.splitlines() if not disappeared(line)]
        assert unexpected == []


def disappeared(complaint):
    """Whether `cp` complains of a temporary file that was listed, and then renamed or removed."""
    temporary = f"/{TEMPORARY}/" in complaint or ".tmp'" in complaint
    return temporary and "No such file or directory" in complaint


@pytest.mark.slow
def test_a_backup_that_is_taken_under_load_is_whole(tmp_path):
    folder, backup = tmp_path / "lake", tmp_path / "backup"
    acknowledged, stop = [], threading.Event()
    with running_server(folder) as server:
        with client(server) as api:
            body = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=body).status_code == 201
        writing = threading.Thread(target=write, args=(server, acknowledged, stop))
        writing.start()
        while len(acknowledged) < 50:
            assert writing.is_alive()
            time.sleep(0.05)
        before = acknowledged[-1]
        back_up(folder, backup)
        stop.set()
        writing.join()
    with running_server(backup) as restored, client(restored) as api:
        objects = "/repositories/sea/refs/main/objects"
        for number in range(before):
            read = api.get(objects, params={"path": f"{number}"})
            assert read.content == b"%d" % number
        page = api.get(f"{objects}/ls", params={"amount": 1000}).json()["results"]
        for item in page:  # what came while it was taken is whole, too
            assert api.get(objects, params={"path": item["path"]}).is_success
        log = api.get("/repositories/sea/refs/main/commits").json()["results"]
        assert len(log) >= 1 + before // 20
        assert api.post(f"{BRANCH}/commits", json={"message": "m"}).status_code in {201, 400}
