"""Two servers: whatever one does before a write of the other, records agree with branches."""

from __future__ import annotations

import itertools
from contextlib import suppress

import pytest

from anabranch.errors import AnabranchError
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.testing.lake import Clock, lake_in
from anabranch.versioning.records import keys

HOUR = 3600
_numbers = itertools.count()


class Intercepted(MemoryStore):
    """A store that lets another actor act before the write with a number."""

    def __init__(self):
        super().__init__()
        self.writes = itertools.count()
        self.at, self.other = -1, None

    def apply(self, writes, expect=()):
        if next(self.writes) == self.at and self.other is not None:
            other, self.other = self.other, None
            with suppress(AnabranchError):
                other()
        return super().apply(writes, expect)


def create(lake):
    key = f"AKIAW{next(_numbers)}"
    request = WorkspaceRequest(source="main", branch="ws", seconds=HOUR, writable=["out/**"])
    lake.workspaces.create("sea", request, access_key_id=key, key_check="c")
    return key


def put(lake):
    lake.objects.upload("sea", "ws", "out/b", [b"b"])


def key_of(lake):
    return lake.workspaces.get("sea", "ws").workspace.access_key_id


def expire(lake):
    lake.clock.advance(2 * HOUR)
    lake.expiry.delete_due()


ACTIONS = {
    "create": create,
    "put": put,
    "checkpoint": lambda lake: lake.workspaces.checkpoint("sea", "ws", "two", committer="ann"),
    "restore": lambda lake: lake.workspaces.restore("sea", "ws", "one"),
    "propose": lambda lake: lake.workspaces.propose("sea", "ws", author="ann", committer="ann"),
    "discard": lambda lake: lake.workspaces.discard("sea", "ws"),
    "extend": lambda lake: lake.branches.set_expiry("sea", "ws", int(lake.clock()) + 9 * HOUR),
    "expire": expire,
    "again": lambda lake: (lake.workspaces.discard("sea", "ws"), create(lake)),
    "reads": lambda lake: (
        lake.workspaces.reads.note("sea", "ws", "ws", ["in/a"], key_of(lake)),
        lake.workspaces.reads.flush(),
    ),
}
PAIRS = [(one, other) for one in ACTIONS for other in ACTIONS if one != "again"]


@pytest.mark.sample(15)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_records_agree_with_branches(tmp_path, one, other):
    for at in range(30):
        store, clock = Intercepted(), Clock()
        folder = tmp_path / str(at)
        # a server of its own: the locks of one process would make the other actor wait
        with lake_in(folder, clock, store) as lake, lake_in(folder, clock, store) as second:
            lake.clock = second.clock = clock
            lake.repositories.create("sea", "local://sea")
            if one != "create":
                create(lake)
                lake.objects.upload("sea", "ws", "out/a", [b"a"])
                lake.workspaces.checkpoint("sea", "ws", "one", committer="ann")
                put(lake)
            store.writes = itertools.count()
            store.at = at
            pending = store.other = lambda lake=second: ACTIONS[other](lake)
            with suppress(AnabranchError):
                ACTIONS[one](lake)
            was_early = store.other is pending
            store.other = None
            check(lake, store)
        if was_early:
            break  # the action makes fewer writes
    assert at > 0 or one == "reads"


BY_KEYS = {
    "put": put,
    "delete": lambda lake: lake.objects.delete("sea", "ws", "out/a"),
    "copy": lambda lake: lake.objects.copy("sea", "ws", "out/c", source_path="out/a"),
    "reset": lambda lake: lake.branches.reset("sea", "ws", "reset"),
    "commit": lambda lake: lake.commits.commit("sea", "ws", message="m", committer="ann"),
    "undo": lambda lake: (
        lake.branches.reset("sea", "ws", "reset"),
        lake.workspaces.undo("sea", "ws"),
    ),
    **{name: ACTIONS[name] for name in ("checkpoint", "restore", "propose", "discard")},
}


@pytest.mark.parametrize("action", BY_KEYS)
def test_what_keys_have_begun_does_not_end_in_a_later_workspace_of_the_name(tmp_path, action):
    """As when a job is run again under its name, while the first run still uploads."""
    for at in range(30):
        store, clock = Intercepted(), Clock()
        folder = tmp_path / str(at)
        with lake_in(folder, clock, store) as lake, lake_in(folder, clock, store) as second:
            lake.repositories.create("sea", "local://sea")
            key = create(lake)
            with acting_as(Caller("ann", workspace="ws", workspace_key=key)):
                lake.objects.upload("sea", "ws", "out/a", [b"a"])
                lake.workspaces.checkpoint("sea", "ws", "one", committer="ann")
                put(lake)
                store.writes, store.at = itertools.count(), at
                pending = store.other = lambda lake=second: made_again(lake)
                with suppress(AnabranchError):
                    BY_KEYS[action](lake)
            was_early = store.other is pending
            store.other = None
            if was_early:
                break
            assert_new(lake, lake.core.repositories.get("sea"))
    assert at > 0


def made_again(lake):
    with acting_as(Caller("ann")):
        lake.workspaces.discard("sea", "ws")
        create(lake)


def assert_new(lake, repository):
    branch = lake.branches.get("sea", "ws")
    assert branch.commit_id == lake.branches.get("sea", "main").commit_id
    assert lake.core.staging.is_empty(branch.tokens)
    workspace = lake.core.workspaces.read(repository, "ws").workspace
    assert (workspace.checkpoints, workspace.pull_request) == ((), "")


def check(lake, store):
    repository = lake.core.repositories.get("sea")
    branches = {each.id for each in lake.branches.list("sea", amount=9).items}
    records = {each.branch: each for each in lake.core.workspaces.all(repository)}
    assert set(records) == branches - {"main"}
    found = {key.decode() for key, _ in store.scan(keys.WORKSPACE_KEYS)}
    assert found == {each.access_key_id for each in records.values()}
    pulls = [each for each in lake.pulls.list("sea", amount=9).items if each.status == "open"]
    assert len(pulls) <= 1 or "ws" not in records
    for record in records.values():
        labels = [each.label for each in record.checkpoints]
        assert len(labels) == len(set(labels))
        for each in record.checkpoints:
            lake.commits.get("sea", each.commit_id)
        if record.pull_request:
            assert lake.pulls.get("sea", record.pull_request).source == record.branch
    if "ws" not in records:
        assert not lake.core.workspaces.reads(repository, "ws").reads
