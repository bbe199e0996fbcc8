"""Backups of a server that is written to: some of them are killed. What is restored is a prefix of
what was acknowledged, with everything that was acknowledged before the backup began.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from support.eventually import eventually
from support.session.forked_python import forked_python
from support.session.sizes import sized

import anabranch
from anabranch.testing.server import running_server

BRANCH = "/repositories/sea/branches/main"
LIMIT = 250
COMMITS_MEANWHILE = 5
PAUSE_SECONDS = 0.1
"""Between two commits, in seconds: a backup of a faster writer copies ever more."""

KILLED_AFTER = (1, 6, 15)[:: sized(2, weekly=1)]
"""How many tables and objects a backup copies before it is killed."""


class Drill(NamedTuple):
    """A server's data folder and environment, where its objects are, and the target of backups,
    whose blocks `stored` counts.
    """

    data: Path
    environment: dict[str, str]
    storage: str
    target: str
    stored: Callable[[], int]
    database: str = ""

    def run(self, *words, data=None, kill_when=None, **changed):
        """Runs a command. With `kill_when`, kills it as soon as that returns True."""
        source = str(Path(anabranch.__file__).parent.parent)
        environment = {**os.environ, **self.environment, "PYTHONPATH": source, **changed}
        command = [forked_python(), "-m", "anabranch", *words, "--json"]
        command += ["--data", str(data or self.data)]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if kill_when is not None:
            while process.poll() is None and not kill_when():
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT)
        if kill_when is not None:
            return None
        assert process.returncode == 0, err.decode()
        return json.loads(out)


@pytest.fixture
def local(tmp_path):
    kept = tmp_path / "kept"

    def stored():
        return sum(1 for path in kept.rglob("*") if path.is_file() and "store" in path.parts)

    return Drill(tmp_path / "lake", {}, "local://sea", str(kept), stored)


@pytest.fixture
def services(tmp_path, postgres_database, s3_service):
    bucket = f"drill-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(bucket)
    environment = {
        **s3_service.settings,
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": postgres_database,
    }
    target = f"s3://{bucket}/kept"
    blocks = s3_service.blocks()
    return Drill(
        tmp_path / "lake",
        environment,
        f"s3://{bucket}/sea",
        target,
        lambda: sum(1 for _ in blocks.list(f"{target}/store/")),
        postgres_database,
    )


class Writer:
    """Commits one after another; `acknowledged` are the ids, the oldest first."""

    def __init__(self, server):
        self.acknowledged = []
        self._stop = threading.Event()
        self._api = httpx2.Client(base_url=server.api, auth=server.auth, timeout=LIMIT)
        self._thread = threading.Thread(target=self._write)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._api.close()

    def wait_for(self, more):
        """Waits until so many more commits were acknowledged."""
        wanted = len(self.acknowledged) + more
        eventually(lambda: len(self.acknowledged) >= wanted or not self._thread.is_alive(), LIMIT)
        assert self._thread.is_alive()

    def _write(self):
        while not self._stop.is_set():
            number = len(self.acknowledged)
            for path in ("counter", f"files/{number}"):
                put = self._api.post(
                    f"{BRANCH}/objects", params={"path": path}, content=b"%d" % number
                )
                assert put.status_code == 201, put.text
            made = self._api.post(f"{BRANCH}/commits", json={"message": f"{number}"})
            assert made.status_code == 201, made.text
            self.acknowledged.append(made.json()["id"])
            self._stop.wait(PAUSE_SECONDS)


def backed_up(drill, writer, server):
    """Makes backups, and kills some in between; returns the ids of those that were made, each with
    how many commits had been acknowledged when it began.
    """
    made = {}
    for blocks in KILLED_AFTER:
        writer.wait_for(COMMITS_MEANWHILE)
        reached = drill.stored() + blocks
        drill.run(
            *("backup", drill.target, "--objects"),
            kill_when=lambda reached=reached: drill.stored() >= reached,
        )
        begun = len(writer.acknowledged)
        manifest = drill.run("backup", drill.target, "--objects")
        assert manifest["problems"] == []
        made[manifest["id"]] = begun
    assert server.pid
    return made


def restored_log(drill, folder, backup, database=""):
    """Restores a backup and returns the ids of the commits of `main`, the oldest first, and the
    counter at its head.
    """
    changed = {"ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": database} if database else {}
    drill.run("restore", drill.target, "--backup", backup, data=folder, **changed)
    report = drill.run("fsck", data=folder, **changed)
    assert report["findings"] == []
    with (
        running_server(folder, env={**drill.environment, **changed}) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=LIMIT) as api,
    ):
        ids, after = [], ""
        while True:
            page = api.get(
                "/repositories/sea/refs/main/commits", params={"amount": 1000, "after": after}
            ).json()
            ids += [each["id"] for each in page["results"] if each["parents"]]
            after = page["pagination"]["next_offset"]
            if not page["pagination"]["has_more"]:
                break
        head = {"path": "counter"}
        counter = api.get(f"/repositories/sea/refs/{ids[0]}/objects", params=head).content
    return ids[::-1], int(counter)


@pytest.mark.systems
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["local", pytest.param("services", marks=pytest.mark.slow)])
def test_restored_backups_are_prefixes_of_what_was_acknowledged(request, kind, tmp_path):
    drill = request.getfixturevalue(kind)
    with running_server(drill.data, env=drill.environment) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=LIMIT) as api:
            body = {"name": "sea", "storage_namespace": drill.storage}
            assert api.post("/repositories", json=body).status_code == 201
        with Writer(server) as writer:
            made = backed_up(drill, writer, server)
        listed = drill.run("backup", "list", drill.target)
        assert made.keys() <= {each["id"] for each in listed}
        for backup in made:
            verified = drill.run("backup", "verify", drill.target, "--backup", backup, "--all")
            assert verified["findings"] == []
    for number, (backup, begun) in enumerate(made.items()):
        database = ""
        if drill.database:
            database = request.getfixturevalue("new_postgres_database")()
        ids, counter = restored_log(drill, tmp_path / f"new-{number}", backup, database)
        assert len(ids) >= begun
        # the last one may have been made before its response was read
        assert ids == writer.acknowledged[: len(ids)]
        assert counter == len(ids) - 1
