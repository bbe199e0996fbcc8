"""Servers that are killed in a dump and in a restore of references: all of it is there or nothing,
and a restore that was cut off can be made again.
"""

from __future__ import annotations

import json
import time

import pytest
from support.clients.no_retry_client import Caller
from support.leftovers import strays
from support.recorded.recorded_installation import stored_refs
from support.session.service_fixtures import new_database
from support.session.sizes import sized

from anabranch.errors import Invalid
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server

COMMITS = 2_000
MOMENTS = (0, 0.2, 0.5, 0.8, 1.1)[:: sized(2, weekly=1)]
"""When servers are killed, in parts of the time that an undisturbed dump and restore take."""


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    """The connection string of a database, empty for SQLite."""
    if request.param == "sqlite":
        return ""
    return new_database(request.getfixturevalue("postgres_cluster"))


def fill(lake):
    """Makes a repository of a long history, 50 tags and an object."""
    lake.repositories.create("sea", "local://sea")
    stored = lake.core.repositories.get("sea")
    lake.objects.upload("sea", "main", "a", [b"bytes"])
    head = lake.commits.commit("sea", "main", message="First", committer="me")
    writes = []
    for number in range(COMMITS):
        head = lake.core.commits.make(
            committer="me",
            message=f"{number}",
            metarange_id=head.metarange_id,
            metadata={"number": f"{number}"},
            parents=[head],
        )
        writes.append(lake.core.commits.write(stored, head))
    lake.keyvalue.apply(writes)
    for number in range(50):
        lake.tags.create("sea", f"t{number}", head.id)
    lake.branches.create("sea", "long", head.id)


def to_body(dump):
    return {
        f"{kind}_meta_range_id": getattr(dump, kind) for kind in ("branches", "commits", "tags")
    }


def from_body(body):
    return RefsDump(**{key.removesuffix("_meta_range_id"): body[key] for key in body})


def names(rows):
    """Returns the keys of records, and the values of all but branches, whose areas differ."""
    return [(key, b"" if key.startswith(b"branches/") else value) for key, value in rows]


def await_done(call, path, task_id):
    deadline = time.monotonic() + 60
    while not (status := call("GET", f"{path}?task_id={task_id}").json)["done"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "error" not in status
    return status


@pytest.mark.slow
def test_a_killed_server_leaves_all_references_or_none(  # noqa: PLR0915  one history
    tmp_path, database
):
    with lake_of(tmp_path, database) as lake:
        fill(lake)
        expected = names(stored_refs(lake, "sea"))
        dump = lake.refs_dumps.dump("sea")
    body = to_body(dump)
    manifest = tmp_path / "block" / "sea" / "_lakefs" / "refs_manifest.json"
    assert json.loads(manifest.read_bytes()) == body
    seconds, tasks = 1.0, {}
    for life, moment in enumerate([None, *MOMENTS]):
        name = f"copy-{life}"
        manifest.unlink()
        with running_server(tmp_path, database=database) as server:
            call = Caller(server)
            for earlier, (task_id, restored) in tasks.items():
                status = call("GET", f"/repositories/{earlier}/restore?task_id={task_id}").json
                assert not restored or status["done"]
                assert restored or status.get("error") or not status["done"]
            creation = {"name": name, "storage_namespace": "local://sea"}
            assert call("POST", "/repositories?bare=true", creation).status == 201
            begin = time.monotonic()
            restoring = call("POST", f"/repositories/{name}/restore", body)
            dumping = call("POST", "/repositories/sea/dump")
            assert {restoring.status, dumping.status} == {202}
            if moment is None:
                await_done(call, f"/repositories/{name}/restore", restoring.json["id"])
                await_done(call, "/repositories/sea/dump", dumping.json["id"])
                seconds = time.monotonic() - begin
            else:
                time.sleep(max(0, begin + moment * seconds - time.monotonic()))
                server.process.kill()
                server.process.wait()
            call.close()
        with lake_of(tmp_path, database) as lake:
            found = names(stored_refs(lake, name))
            assert found in ([], expected)
            tasks[name] = (restoring.json["id"], bool(found))
            if moment is None:
                assert found == expected
            if not found:
                try:
                    lake.refs_dumps.restore(name, dump)
                except Invalid:
                    # the database has meanwhile committed what the killed server had sent
                    tasks[name] = (restoring.json["id"], True)
                assert names(stored_refs(lake, name)) == expected
            assert lake.objects.open(name, "long", "a").read_bytes() == b"bytes"
            assert names(stored_refs(lake, "sea")) == expected
            if manifest.exists():
                written = from_body(json.loads(manifest.read_bytes()))
                lake.repositories.create(f"again-{life}", "local://sea", bare=True)
                lake.refs_dumps.restore(f"again-{life}", written)
            else:
                assert moment is not None
                lake.refs_dumps.dump("sea")
    if not database:
        assert strays(tmp_path) == []
