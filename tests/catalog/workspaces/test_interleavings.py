"""Two servers: whatever one does before a write of the other, records agree with branches."""

from __future__ import annotations

import itertools
from contextlib import suppress

import pytest

from anabranch.errors import AnabranchError
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.testing.lake import Clock, lake_in
from anabranch.versioning.records import keys

HOUR = 3600


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
    request = WorkspaceRequest(source="main", branch="ws", seconds=HOUR, writable=["out/**"])
    lake.workspaces.create("sea", request, access_key_id=f"AKIAW{id(request)}", key_check="c")


def put(lake):
    lake.objects.upload("sea", "ws", "out/b", [b"b"])


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
        lake.workspaces.reads.note("sea", "ws", "ws", ["in/a"]),
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
