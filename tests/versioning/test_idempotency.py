"""Responses kept for idempotency keys: whose they are, when they expire, and that they go."""

from __future__ import annotations

import pytest
from support.changes import ExtraWritesFrom

from anabranch.errors import Busy, Conflict, Invalid, OutcomeUnknown
from anabranch.http.response import Response
from anabranch.keyvalue.memory import MemoryStore
from anabranch.rest.protocol.idempotency import RepeatedRequest, run_once
from anabranch.testing.lake import Clock, lake_in
from anabranch.testing.stores import FaultyStore
from anabranch.versioning.idempotency import LIFETIME_SECONDS

PARTITION = "idempotency-keys"


class Failing:
    """Actions of a store before and after a transaction."""

    def __init__(self):
        self.store = MemoryStore()
        self.lose = 0
        self.refuse = False

    def before(self, step, partition):
        if self.refuse and step == "get" and partition == PARTITION:
            raise Busy("the database is away")


class LosingStore(FaultyStore):
    """Makes a given number of transactions with unknown outcomes: made or lost."""

    made: list[bool]

    def apply(self, writes, expect=()):
        if not self.made or not any(write.partition == PARTITION for write in writes):
            return super().apply(writes, expect)
        if self.made.pop():
            super().apply(writes, expect)
        raise OutcomeUnknown("the connection to the database was lost")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def failing():
    return Failing()


@pytest.fixture
def lake(tmp_path, clock, failing):
    store = LosingStore(failing.store, failing.before)
    store.made = []
    with lake_in(tmp_path, clock, store) as opened:
        opened.repositories.create("sea", "local://sea")
        opened.lossy = store
        yield opened


@pytest.fixture
def commit(lake):
    """Commits nothing, with a key; returns the id, and whether it is that of an earlier commit."""

    def call(key, principal="one", fingerprint="f"):
        repetition = RepeatedRequest(
            lake.core.idempotency_keys,
            principal,
            key,
            fingerprint,
            lambda text: Response(201, text.encode()),
        )

        def handler():
            made = lake.commits.commit(
                "sea",
                "main",
                message="m",
                committer=principal,
                allow_empty=True,
                extra_writes=[repetition.recording(lambda commit: commit.id)],
            )
            return Response(201, made.id.encode())

        answer = run_once(repetition, handler)
        assert answer.status == 201
        return answer.body.decode(), bool(answer.headers)

    return call


def length(lake):
    return len(lake.commits.log("sea", "main", amount=1000).items)


def held(lake):
    return len(list(lake.keyvalue.scan(PARTITION)))


def test_key_is_separate_for_each_principal(commit):
    first, replayed = commit("key")
    assert not replayed
    assert commit("key") == (first, True)
    other, replayed = commit("key", principal="two")
    assert (other != first, replayed) == (True, False)
    # what is put together is kept apart
    assert not commit("b", principal='a","b')[1]
    assert not commit('b","b', principal="a")[1]


def test_expired_key_can_be_reused(commit, clock, lake):
    first, _ = commit("key")
    clock.advance(LIFETIME_SECONDS - 1)
    assert commit("key") == (first, True)
    clock.advance(1)
    second, replayed = commit("key", fingerprint="another")
    assert (second != first, replayed) == (True, False)
    assert commit("key", fingerprint="another") == (second, True)
    assert length(lake) == 3


def test_clean_removes_expired_responses(commit, clock, lake):
    for number in range(5):
        commit(f"old-{number}")
    clock.advance(LIFETIME_SECONDS / 2)
    kept, _ = commit("new")
    assert lake.core.idempotency_keys.clean() == 0
    clock.advance(LIFETIME_SECONDS / 2 + 1)
    again, _ = commit("old-0")
    assert lake.core.idempotency_keys.clean() == 4
    assert held(lake) == 4
    assert commit("new") == (kept, True)
    assert commit("old-0") == (again, True)
    clock.advance(LIFETIME_SECONDS + 1)
    assert lake.core.idempotency_keys.clean() == 2
    assert held(lake) == 0
    assert lake.core.idempotency_keys.clean() == 0


def test_other_request_with_same_key_is_rejected(commit, lake):
    commit("key")
    with pytest.raises(Invalid) as refused:
        commit("key", fingerprint="g")
    assert refused.value.kind == "idempotency_key_reused"
    assert length(lake) == 2


def test_concurrent_equal_request_wins(commit, lake):
    """The second begins before the first has moved the branch, and ends after it."""
    repetition = RepeatedRequest(
        lake.core.idempotency_keys, "one", "key", "f", lambda text: Response(201, text.encode())
    )
    firsts = []

    def late(made):
        if not firsts:
            firsts.append(commit("key")[0])
        return repetition.response_writes(made.id)

    def handler():
        return lake.commits.commit(
            "sea",
            "main",
            message="m",
            committer="one",
            allow_empty=True,
            extra_writes=[ExtraWritesFrom(late)],
        )

    lake.core.committer._locks = type("NoLocks", (), {"acquire": lambda *_: _Nothing()})()
    answer = run_once(repetition, handler)
    assert (answer.body.decode(), bool(answer.headers)) == (firsts[0], True)
    assert length(lake) == 2


class _Nothing:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


def test_response_of_lost_outcome_is_found(commit, lake):
    lake.lossy.made = [True]
    made, replayed = commit("made")
    assert replayed
    assert commit("made") == (made, True)
    lake.lossy.made = [False]
    with pytest.raises(Busy, match="nothing was changed") as lost:
        commit("not made")
    assert not isinstance(lost.value, OutcomeUnknown)
    assert not commit("not made")[1]
    assert length(lake) == 3


@pytest.mark.parametrize("made", [True, False])
def test_unknown_outcome_hint_says_what_to_do(commit, lake, failing, made):
    apply = lake.lossy.apply

    def lose(writes, expect=()):
        failing.refuse = any(write.partition == PARTITION for write in writes)
        return apply(writes, expect)

    lake.lossy.made, lake.lossy.apply = [made], lose
    with pytest.raises(OutcomeUnknown) as unknown:
        commit("key")
    assert "same Idempotency-Key" in unknown.value.hint
    failing.refuse, lake.lossy.apply = False, apply
    assert commit("key")[1] == made
    assert length(lake) == 2


def test_error_in_extra_writes_changes_nothing(lake):
    def refuse_result(_):
        raise Conflict("no")

    refuse = [ExtraWritesFrom(refuse_result)]

    for change in (
        lambda: lake.branches.create("sea", "b", "main", extra_writes=refuse),
        lambda: lake.tags.create("sea", "t", "main", extra_writes=refuse),
        lambda: lake.commits.commit(
            "sea", "main", message="m", committer="c", allow_empty=True, extra_writes=refuse
        ),
    ):
        with pytest.raises(Conflict):
            change()
    assert length(lake) == 1
    assert [branch.id for branch in lake.branches.list("sea", amount=10).items] == ["main"]
