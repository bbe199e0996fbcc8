"""lakefs-sdk: dumps of references, restores, and records of commits."""

from __future__ import annotations

import datetime as dt
import threading
import time

import lakefs_sdk
import pytest
from support.clients.no_retry_client import Caller
from support.recorded.recorded_installation import MANIFEST

from anabranch import _kernel as kernel


@pytest.fixture
def internal(sdk):
    return sdk.internal_api


@pytest.fixture
def filled(repo):
    """A repository with three branches, a merge and a tag."""
    repo.save("a", b"1")
    repo.branch("dev")
    repo.branch("hidden", hidden=True)
    repo.save("b", b"2", "dev")
    repo.save("c", b"3")
    repo.merge("dev", message="Merge dev")
    repo.sdk.tags_api.create_tag(repo.id, lakefs_sdk.TagCreation(id="v1", ref="main~1"))
    return repo


@pytest.fixture
def bare(repo, server):
    """Returns a function that creates a bare repository on the storage namespace of `repo`."""

    def create(suffix="bare", **fields):
        creation = lakefs_sdk.RepositoryCreation(
            name=f"{repo.id[:50]}-{suffix}",
            storage_namespace=f"{server.storage}{repo.id}",
            **fields,
        )
        return repo.sdk.repositories_api.create_repository(creation, bare=True).id

    return create


def contents(sdk, repository):
    """Returns everything of a repository that a dump has: references, histories and objects."""
    branches = sdk.branches_api.list_branches(repository, show_hidden=True).results
    refs = [*branches, *sdk.tags_api.list_tags(repository).results]
    return {
        ref.id: (
            ref.commit_id,
            sdk.refs_api.log_commits(repository, ref.id).results,
            {
                each.path: bytes(sdk.objects_api.get_object(repository, ref.id, each.path))
                for each in sdk.objects_api.list_objects(repository, ref.id).results
            },
        )
        for ref in refs
    }


def to_restore(dump, **fields):
    return lakefs_sdk.RefsRestore(**dump.to_dict(), **fields)


def done(status, repository, task_id):
    """Returns the status of a task when it is done."""
    deadline = time.monotonic() + 60
    while not (state := status(repository, task_id)).done:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert state.id == task_id
    assert abs((dt.datetime.now(dt.UTC) - state.update_time).total_seconds()) < 60
    return state


def test_a_dump_is_restored_at_once(filled, internal, bare):
    dump = internal.dump_refs(filled.id)
    copy = bare()
    assert internal.restore_refs(copy, to_restore(dump)) is None
    assert contents(filled.sdk, copy) == contents(filled.sdk, filled.id)
    assert internal.dump_refs(copy) == dump


def test_a_dump_is_restored_by_tasks(filled, bare):
    api = filled.sdk.repositories_api
    task = api.dump_submit(filled.id)
    assert task.id.startswith("DR")
    state = done(api.dump_status, filled.id, task.id)
    assert state.error is None
    assert state.refs == filled.sdk.internal_api.dump_refs(filled.id)
    copy = bare()
    task = api.restore_submit(copy, to_restore(state.refs))
    assert task.id.startswith("RR")
    assert done(api.restore_status, copy, task.id).error is None
    assert contents(filled.sdk, copy) == contents(filled.sdk, filled.id)
    filled.sdk.objects_api.upload_object(copy, "main", "new", content=b"4")
    filled.sdk.commits_api.commit(copy, "main", lakefs_sdk.CommitCreation(message="Go on"))


def test_only_bare_repositories_are_restored(filled, internal, refused):
    dump = internal.dump_refs(filled.id)
    before = contents(filled.sdk, filled.id)
    with refused(400, "can only restore into a bare repository"):
        internal.restore_refs(filled.id, to_restore(dump))
    with refused(400, "can only restore into a bare repository"):
        filled.sdk.repositories_api.restore_submit(filled.id, to_restore(dump))
    assert contents(filled.sdk, filled.id) == before
    with refused(404, "repository not found"):
        internal.restore_refs("no-such-repository", to_restore(dump))
    with refused(404, "repository not found"):
        internal.dump_refs("no-such-repository")


def test_read_only_repositories_need_force(filled, internal, bare, refused):
    dump = internal.dump_refs(filled.id)
    copy = bare(read_only=True)
    with refused(403, "read-only repository"):
        internal.restore_refs(copy, to_restore(dump))
    with refused(403, "read-only repository"):
        filled.sdk.repositories_api.restore_submit(copy, to_restore(dump))
    internal.restore_refs(copy, to_restore(dump, force=True))
    assert contents(filled.sdk, copy).keys() == {"main", "dev", "hidden", "v1"}


def test_tasks_of_others_are_not_found(filled, bare, refused):
    api = filled.sdk.repositories_api
    task = api.dump_submit(filled.id).id
    done(api.dump_status, filled.id, task)
    other = bare()
    for status in (api.dump_status, api.restore_status):
        for name, task_id in [
            (other, task),
            (filled.id, "DR" + "x" * 20),
            (filled.id, "x"),
            (filled.id, "../" + task),
            (filled.id, "é"),
            ("no-such-repository", task),
        ]:
            with refused(404, "not found"):
                status(name, task_id)
    with refused(404, "not found"):
        api.restore_status(filled.id, task)


def test_failed_tasks_have_an_error(filled, internal, bare):
    dump = internal.dump_refs(filled.id)
    dump.tags_meta_range_id = "0" * 64
    copy = bare()
    api = filled.sdk.repositories_api
    state = done(api.restore_status, copy, api.restore_submit(copy, to_restore(dump)).id)
    assert "0" * 64 in state.error
    assert contents(filled.sdk, copy) == {}


BODY = {"branches_meta_range_id": "", "commits_meta_range_id": "", "tags_meta_range_id": ""}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        ({}, 400),
        (dict.fromkeys(list(BODY)[1:], ""), 400),
        (BODY | {"tags_meta_range_id": None}, 400),
        (BODY | {"tags_meta_range_id": 1}, 400),
        (BODY | {"force": "yes"}, 400),
        (BODY | {"tags_meta_range_id": "\ud800"}, 400),
        (BODY | {"tags_meta_range_id": "../../etc"}, 400),
        (BODY | {"tags_meta_range_id": "%2e%2e"}, 400),
        (BODY | {"tags_meta_range_id": "A" * 64}, 400),
        (BODY | {"tags_meta_range_id": "0" * 64}, 410),
        (BODY | {"tags_meta_range_id": "x" * 9_000_000}, 413),
    ],
)
def test_malformed_bodies_change_nothing(server, filled, bare, body, status):
    copy = bare()
    call = Caller(server)
    assert call("PUT", f"/repositories/{copy}/refs/restore", body).status == status
    if status != 410:
        reply = call("POST", f"/repositories/{copy}/restore", body)
        assert reply.status == status or (status == 400 and reply.status == 202)
    assert contents(filled.sdk, copy) == {}
    call.close()


def test_dumps_during_writes_are_restored(repo, internal, bare):
    """What was acknowledged before a dump is in it, with all of its history."""
    stop, made = threading.Event(), []

    def write(branch):
        while not stop.is_set():
            made.append(repo.commit(f"{len(made)}", branch, allow_empty=True).id)

    repo.branch("dev")
    writers = [threading.Thread(target=write, args=(each,)) for each in ("main", "dev")]
    for writer in writers:
        writer.start()
    dumps = []
    try:
        while len(dumps) < 5:
            before = set(made)
            dumps.append((before, internal.dump_refs(repo.id)))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    for number, (before, dump) in enumerate(dumps):
        copy = bare(f"{number}")
        internal.restore_refs(copy, to_restore(dump))
        restored = []
        for branch in ("main", "dev"):
            log = repo.sdk.refs_api.log_commits(copy, branch, amount=1000).results
            assert repo.log(branch, amount=1000)[-len(log) :] == log
            restored += [each.id for each in log]
        assert before <= set(restored)


RECORDED = ("committer", "message", "creation_date", "parents", "metadata")


def record(**fields):
    """Returns a commit's record with the id that it must have."""
    body = {
        "committer": "me",
        "message": "A record",
        "metarange_id": "",
        "creation_date": 1_700_000_000,
        "parents": [],
        "metadata": {"ü": "\U0001f30a", "a": "b"},
        **fields,
    }
    commit_id = kernel.commit_id(
        *(body[name] for name in ("committer", "message", "metarange_id", "creation_date")),
        *(body["metadata"], body["parents"]),
    )
    return {"commit_id": commit_id, "version": 1, "generation": 1} | body


def test_records_of_commits_are_created(filled, internal, refused):
    head = filled.head()
    body = record(
        metarange_id=head.meta_range_id, parents=[head.id], generation=head.generation + 1
    )
    creation = lakefs_sdk.CommitRecordCreation.from_dict(body)
    assert internal.create_commit_record(filled.id, creation) is None
    assert filled.head(body["commit_id"]).to_dict() == {
        "id": body["commit_id"],
        "meta_range_id": head.meta_range_id,
        **{name: body[name] for name in (*RECORDED, "generation", "version")},
    }
    filled.branch("from-record", body["commit_id"])
    assert filled.get("b", "from-record") == b"2"
    with refused(409, "commit already exists: not unique"):
        internal.create_commit_record(filled.id, creation)


def test_every_recorded_commit_is_created_again(repo, internal, bare):
    """Those of a real lakeFS that have no tree; the others' trees are not here."""
    copy = bare()
    without = [each for each in MANIFEST["commits"].values() if not each["meta_range_id"]]
    assert without
    for commit in without:
        body = {**commit, "commit_id": commit["id"], "metarange_id": commit["meta_range_id"]}
        internal.create_commit_record(copy, lakefs_sdk.CommitRecordCreation.from_dict(body))
        assert repo.sdk.commits_api.get_commit(copy, commit["id"]).to_dict() == commit


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"commit_id": "0" * 64}, 400, "commit id: invalid value: validation error"),
        ({"message": "Another"}, 400, "commit id: invalid value: validation error"),
        ({"version": 2}, 400, ""),
        ({"version": -1}, 400, ""),
        ({"version": "1"}, 400, ""),
        ({"creation_date": 2**63}, 400, ""),
        ({"generation": 0}, 400, "generation"),
        ({"generation": 2**31}, 400, "generation"),
        ({"parents": None}, 400, ""),
        ({"parents": ["x", 1]}, 400, ""),
        ({"metadata": {"a": 1}}, 400, ""),
        ({"committer": None}, 400, ""),
        ({"message": "x" * 9_000_000}, 413, ""),
        (record(parents=["0" * 64]), 404, "commit not found"),
        (record(metarange_id="0" * 64), 404, "is not in the repository's store"),
        (record(metarange_id="x"), 400, "not the id of a table"),
    ],
)
def test_records_that_cannot_be_are_refused(server, repo, change, status, message):
    call = Caller(server)
    body = record() | change
    reply = call("POST", f"/repositories/{repo.id}/commits", body)
    assert reply.status == status
    assert message in reply.message
    for name in ("commit_id", "version", "committer", "metarange_id", "parents", "generation"):
        left = {key: value for key, value in record().items() if key != name}
        reply = call("POST", f"/repositories/{repo.id}/commits", left)
        assert reply.status == 400
        assert name in reply.message
    assert call("GET", f"/repositories/{repo.id}/commits/{record()['commit_id']}").status == 404
    call.close()
