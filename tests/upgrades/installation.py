"""An installation with a little of everything, and what its server says of it.

    python tests/upgrades/installation.py FOLDER [postgres://…]

makes one by the code in PYTHONPATH, and writes beside it what a server over it says. So fixtures
are made by the version whose records they are to keep; see the README beside this file. With the
connection string of an empty database its records are there, and are dumped by pg_dump.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import httpx2

from anabranch.testing.server import Server, running_server

__all__ = ["DATA", "DUMP", "observe"]

DATA = "data.tar.xz"
DUMP = "database.sql.xz"
REPOSITORY = {"name": "sea", "storage_namespace": "local://sea"}
GETS = (
    "/repositories",
    "/repositories/sea",
    "/repositories/sea/branches?show_hidden=true",
    "/repositories/sea/tags",
    "/repositories/sea/refs/main/commits",
    "/repositories/sea/refs/dev/commits",
    "/repositories/sea/refs/v1/objects/ls?amount=1000",
    "/repositories/sea/refs/main/objects/ls?amount=1000",
    "/repositories/sea/refs/dev/objects/ls?amount=1000",
    "/repositories/sea/branches/dev/diff",
    "/repositories/sea/refs/main/diff/dev",
    "/repositories/sea/pulls",
    "/repositories/sea/settings/branch_protection",
    "/repositories/sea/settings/gc_rules",
    "/repositories/sea/metadata",
    "/repositories/sea/actions/runs",
    "/auth/users",
    "/auth/groups",
    "/auth/policies",
    "/auth/users/lin/policies?effective=true",
    "/auth/users/lin/credentials",
)
_NOT_LASTING = {"physical_address", "pagination"}
ACTION = """
name: messages
on: {pre-commit: {branches: [main]}}
hooks:
  - {id: message, type: lua, properties: {script: "print(action.commit.message)"}}
"""


def observe(server: Server) -> dict[str, Any]:
    """Returns what a server answers to each of GETS, and the digests of the objects."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
        answers = {path: _answer(api, path) for path in GETS}
        for reference in ("v1", "main", "dev"):
            listing = answers[f"/repositories/sea/refs/{reference}/objects/ls?amount=1000"]
            for item in listing["results"]:
                path = f"/repositories/sea/refs/{reference}/objects"
                got = api.get(path, params={"path": item["path"]})
                digest = hashlib.sha256(got.content).hexdigest()
                answers[f"{reference} {item['path']}"] = f"{got.status_code} {digest}"
        return answers


def _answer(api: httpx2.Client, path: str) -> Any:
    response = api.get(path)
    assert response.status_code == 200, (path, response.status_code, response.text)
    return _lasting(response.json())


def _lasting(answer: Any) -> Any:
    """Leaves out what is of one machine, or has an end: addresses of files, workspaces."""
    if isinstance(answer, dict):
        return {name: _lasting(value) for name, value in answer.items() if name not in _NOT_LASTING}
    if isinstance(answer, list):
        return [_lasting(item) for item in answer if not _is_workspace(item)]
    return answer


def _is_workspace(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("id", "")).startswith("ws-")


def make(api: httpx2.Client) -> dict[str, Any]:
    """Makes a little of everything; returns the keys that it has made."""

    def call(method: str, path: str, body: Any = None, **params: str) -> Any:
        response = api.request(method, path, json=body, params=params)
        assert response.is_success, (path, response.status_code, response.text)
        is_json = response.headers.get("content-type") == "application/json"
        return response.json() if is_json else None

    def put(branch: str, path: str, content: bytes) -> None:
        url = f"/repositories/sea/branches/{branch}/objects"
        assert api.post(url, params={"path": path}, content=content).is_success

    def commit(branch: str, message: str) -> None:
        call("POST", f"/repositories/sea/branches/{branch}/commits", {"message": message})

    call("POST", "/repositories", REPOSITORY)
    for number in range(5):
        put("main", f"data/{number}.csv", f"id,value\n{number},{number * 1.5}\n".encode())
    put("main", "large", b"0123456789" * 20_000)
    put("main", "_lakefs_actions/messages.yaml", ACTION.encode())
    commit("main", "First")
    call("POST", "/repositories/sea/tags", {"id": "v1", "ref": "main"})
    for name in ("dev", "gone"):
        call("POST", "/repositories/sea/branches", {"name": name, "source": "main"})
    put("dev", "data/1.csv", b"id,value\n1,100\n")
    commit("dev", "Change 1")
    put("main", "data/5.csv", b"id,value\n5,5\n")
    commit("main", "Add 5")
    call("POST", "/repositories/sea/refs/dev/merge/main", {"message": "Merge dev"})
    put("dev", "staged", b"not committed")
    put("gone", "lost", b"not committed")
    call("DELETE", "/repositories/sea/branches/gone")
    call(
        *("POST", "/repositories/sea/pulls"),
        {"title": "Dev", "source_branch": "dev", "destination_branch": "main"},
    )
    call("PUT", "/repositories/sea/settings/branch_protection", [{"pattern": "release*"}])
    call(
        *("PUT", "/repositories/sea/settings/gc_rules"),
        {"default_retention_days": 21, "branches": [{"branch_id": "dev", "retention_days": 7}]},
    )
    call("POST", "/repositories/sea/metadata", {"metadata": {"owner": "ada"}})
    call("POST", "/auth/users", {"id": "lin"})
    call("PUT", "/auth/groups/Viewers/members/lin")
    pair = call("POST", "/auth/users/lin/credentials")
    workspace = call(
        *("POST", "/repositories/sea/workspaces"),
        {"source": "main", "writable": ["out/**"], "purpose": "try", "expires": "30d"},
    )
    names = ("access_key_id", "secret_access_key")
    login = call("POST", "/auth/login", {name: pair[name] for name in names})
    return {"pair": pair, "workspace": workspace, "login": login["token"]}


def main(folder: Path, database: str = "") -> None:
    data = folder / "data"
    data.mkdir(parents=True)
    if database:
        run("anabranch", "migrate", "--data", str(data), database=database)
    with running_server(data, database=database) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            keys = {**make(api), "made_at": int(time.time())}
        observed = observe(server)
    if database:
        programs = [*Path("/usr/lib/postgresql").glob("*/bin/pg_dump"), Path("pg_dump")]
        dump = subprocess.run(
            [programs[0], "--inserts", "--no-owner", "--no-privileges", database],
            check=True,
            stdout=subprocess.PIPE,
        )
        (folder / DUMP).write_bytes(lzma.compress(dump.stdout))
    with tarfile.open(folder / DATA, "w:xz") as archive:
        archive.add(data, "data")
    record = {"keys": keys, "auth": server.auth, "observed": observed}
    (folder / "observed.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def run(*words: str, database: str) -> None:
    """Runs a command over a database."""
    environment = {
        **os.environ,
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": database,
    }
    subprocess.run([sys.executable, "-m", *words], check=True, env=environment)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
