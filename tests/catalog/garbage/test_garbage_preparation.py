"""Preparations of garbage collections: pages, and tasks of stopped servers."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from anabranch.catalog.garbage.tasks import GarbageTasks
from anabranch.errors import NotFound
from anabranch.model.repositories.retention import RetentionRules
from anabranch.versioning.records.tasks import INTERRUPTED_SECONDS


def addresses(location):
    files = Path(location.removeprefix("local://")).iterdir()
    return [a for file in files for a in pq.read_table(file).column(0).to_pylist()]


def test_pages_follow_one_another(lake):
    lake.branches.create("sea", "dev", "main")
    names = ["a", "\N{SNOWMAN}", "z"]
    expected = [
        lake.objects.upload("sea", branch, f"{name}{number}", [b"x"]).entry.address
        for branch in ("main", "dev")
        for name in names
        for number in range(3)
    ]
    page = lake.garbage_preparation.uncommitted("sea", page_bytes=200)
    pages = [page]
    while page.continuation_token:
        page = lake.garbage_preparation.uncommitted("sea", page.continuation_token, page_bytes=200)
        pages.append(page)
    assert len(pages) > 3
    assert len({page.run_id for page in pages}) == 1
    assert sorted(addresses(pages[0].location)) == sorted(expected)


def test_a_full_address_in_the_namespace_is_made_relative(lake):
    put = lake.blocks.put("local://sea/data/x/y", [b"1"])
    for number, address in enumerate(
        ["local://sea/data/x/y", lake.blocks.qualify("local://sea/data/x/y"), "local://land/a"]
    ):
        lake.staging.stage(
            "sea", "main", f"{number}", address=address, checksum=put.checksum, size=1
        )
    page = lake.garbage_preparation.uncommitted("sea")
    assert addresses(page.location) == ["data/x/y"] * 2


def test_task_of_a_stopped_server_has_an_error(lake, clock):
    found = lake.core.repositories.get("sea")
    task = lake.core.preparation_tasks.begin(found, "another server")
    clock.advance(INTERRUPTED_SECONDS)
    assert not lake.garbage_tasks.status("sea", task.id).done
    clock.advance(1)
    status = lake.garbage_tasks.status("sea", task.id)
    assert status.done
    assert "has stopped" in status.error
    lake.core.preparation_tasks.update(found, task)
    assert not lake.garbage_tasks.status("sea", task.id).done
    clock.advance(24 * 3600 + 1)
    with pytest.raises(NotFound):
        lake.garbage_tasks.status("sea", task.id)
    lake.core.preparation_tasks.begin(found, "x")
    assert len(list(lake.keyvalue.scan(found.partition, b"tasks/", b"tasks0"))) == 1


class Slow:
    """Prepares on request."""

    def __init__(self, real):
        self.real = real
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()

    def commits(self, repository):
        self.begun.release()
        assert self.go.wait(60)
        return self.real.commits(repository)


def test_close_finishes_running_tasks_and_fails_queued_ones(lake, clock):
    lake.garbage_rules.set("sea", RetentionRules(1))
    slow = Slow(lake.garbage_preparation)
    tasks = GarbageTasks(lake.core, slow)
    ids = [tasks.start("sea") for _ in range(4)]
    for _ in range(2):
        assert slow.begun.acquire(timeout=60)
    clock.advance(50)
    tasks.send_heartbeats()
    clock.advance(50)
    assert not any(tasks.status("sea", task_id).done for task_id in ids)
    closing = threading.Thread(target=tasks.close)
    closing.start()
    slow.go.set()
    closing.join(60)
    ended = [tasks.status("sea", task_id) for task_id in ids]
    assert all(task.done for task in ended)
    assert sum(task.result is not None for task in ended) == 2
    assert sum("before the task" in task.error for task in ended) == 2


def prepared(lake, repository="sea", page_bytes=1 << 20):
    """The addresses of all pages of a preparation."""
    page = lake.garbage_preparation.uncommitted(repository, page_bytes=page_bytes)
    locations = {page.location}
    while page.continuation_token:
        page = lake.garbage_preparation.uncommitted(
            repository, page.continuation_token, page_bytes=page_bytes
        )
        locations.add(page.location)
    (location,) = locations - {""} or {""}
    return sorted(addresses(location)) if location else []


def test_preparation_includes_unfinished_uploads(lake):
    upload = lake.uploads.create("sea", "main", "big")
    lake.repositories.create("land", "local://land")
    lake.uploads.create("land", "main", "big")
    assert prepared(lake) == [upload.address]
    lake.uploads.abort("sea", "main", "big", upload.id)
    assert upload.address in prepared(lake)  # until it can no longer be completed


@pytest.mark.parametrize("size", [1, 150, 20 << 20])
def test_preparation_includes_objects_staged_by_other_repositories(lake, size):
    own = lake.objects.upload("sea", "main", "a", [b"1"]).entry
    expected = [own.address]
    for name in ("land", "sky", "zoo"):
        lake.repositories.create(name, f"local://{name}")
        lake.objects.upload(name, "main", "own", [b"1"])
        for number in range(3):
            address = f"data/{name}/{number}"
            lake.staging.stage(
                *(name, "main", f"{number}"),
                address=f"local://sea/{address}",
                checksum=own.checksum,
                size=1,
            )
            expected.append(address)
    assert prepared(lake, page_bytes=size) == sorted(expected)


def test_preparation_includes_hidden_changes_of_sealed_areas(lake):
    older = [lake.objects.upload("sea", "main", name, [b"1"]).entry.address for name in "ab"]
    sea = lake.core.repositories.get("sea")

    lake.core.committer.seal(sea, "main")
    newer = [lake.objects.upload("sea", "main", name, [b"2"]).entry.address for name in "ab"]
    lake.objects.delete("sea", "main", "b")
    assert prepared(lake, page_bytes=1) == sorted([*older, newer[0]])


def rows(lake, **options):
    location = lake.garbage_preparation.commits("sea", **options).commits
    first, *lines = lake.blocks.read(lake.blocks.unqualify(location)).decode().splitlines()
    assert first == "commit_id,expired,metarange_id"
    return {line.split(",")[0]: line.split(",")[1] for line in lines}


def test_include_expired_writes_all_commits(lake, clock):
    made = []
    for number in range(3):
        lake.objects.upload("sea", "main", "a", [b"%d" % number])
        made.append(lake.commits.commit("sea", "main", committer="me", message="m").id)
        clock.advance(10 * 86_400)
    with pytest.raises(NotFound):
        lake.garbage_preparation.commits("sea")
    first = lake.commits.get("sea", "main~3").id
    assert rows(lake, include_expired=True) == dict.fromkeys([first, *made], "false")
    lake.garbage_rules.set("sea", RetentionRules(15))
    assert rows(lake) == dict.fromkeys(made[1:], "false")
    expired = dict.fromkeys([first, made[0]], "true")
    assert rows(lake, include_expired=True) == {**expired, **dict.fromkeys(made[1:], "false")}


@pytest.mark.parametrize("read", ["operations", "branches"])
@pytest.mark.parametrize("change", ["delete", "restore"])
def test_what_a_branch_loses_or_gets_back_meanwhile_is_included(lake, monkeypatch, read, change):
    lake.branches.create("sea", "dev", "main")
    staged = lake.objects.upload("sea", "dev", "a", [b"x"]).entry.address
    if change == "restore":
        lake.branches.delete("sea", "dev")
    core = lake.core
    place, name = {
        "operations": (core.operation_retention, "kept"),
        "branches": (core.branches, "all"),
    }[read]
    real, pending = getattr(place, name), [change]

    def then_changed(repository):
        found = real(repository)
        found = found if read == "operations" else list(found)
        if pending and pending.pop() == "delete":
            lake.branches.delete("sea", "dev")
        elif not pending and change == "restore" and "dev" not in names(lake):
            lake.operations.restore_branch("sea", "dev")
        return found

    monkeypatch.setattr(place, name, then_changed)
    assert prepared(lake) == [staged]


def names(lake):
    return [each.id for each in lake.branches.list("sea", amount=9).items]
