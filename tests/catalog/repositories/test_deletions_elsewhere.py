"""A repository that another server has deleted is read no more, though its record is remembered."""

from __future__ import annotations

import pytest
from simulation.buckets import SharedBlocks
from simulation.postgres import Database, open_store

from anabranch.errors import NotFound
from anabranch.keyvalue import recent_values
from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.recent_values import RECENT_SECONDS
from anabranch.library import Lake
from anabranch.testing.lake import Clock
from anabranch.versioning.repositories import repositories

SEA = "sea"


class Time:
    """Takes the place of the module, with a clock that goes only when something sleeps."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def time(monkeypatch):
    time = Time()
    monkeypatch.setattr(recent_values, "time", time)
    return time


@pytest.fixture
def servers(tmp_path):
    """Two servers over one database, each with what it sends."""
    database, clock = Database(), Clock()
    blocks = SharedBlocks(clock=clock)
    lakes = []
    for number in range(2):
        sent = []
        store = open_store(database, lambda each, sent=sent: sent.append(each) or "made")
        lake = Lake(
            *(PrefetchedReads(store), blocks),
            cache_folder=tmp_path / f"cache-{number}",
            signing_secret=b"a secret of tests",
            clock=clock,
        )
        lakes.append((lake, sent))
    return lakes


@pytest.fixture
def commit(servers):
    (lake, _), _ = servers
    lake.repositories.create(SEA, "mem://sea", committer="ada")
    lake.objects.upload(SEA, "main", "a", [b"1"])
    return lake.commits.commit(SEA, "main", message="first", committer="ada").id


def reads(lake, commit):
    """Returns what three reads at a commit find, the names of errors."""
    found = []
    for read in (
        lambda: lake.objects.stat(SEA, commit, "a").path,
        lambda: b"".join(lake.objects.open(SEA, commit, "a").chunks()),
        lambda: [each.path for each in lake.objects.listing(SEA, commit, amount=9).items],
    ):
        try:
            found.append(read())
        except NotFound as error:
            found.append(error.kind)
    return found


def test_the_record_is_read_once_in_a_while(servers, commit, time):
    (lake, sent), _ = servers
    there = ["a", b"1", ["a"]]
    assert reads(lake, commit) == there
    sent.clear()
    assert reads(lake, commit) == there
    assert sent == []
    time.sleep(RECENT_SECONDS)
    assert reads(lake, commit) == there
    assert len(sent) == 1
    sent.clear()
    lake.objects.stat(SEA, "main", "a")
    assert sent  # what changes is read each time


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.usefixtures("time")
def test_a_deletion_that_has_ended_is_seen_at_once(servers, commit, forget):
    for (here, _), (there, _) in (servers, servers[::-1]):
        assert reads(here, commit)[0] == reads(there, commit)[0] == "a"
        here.repositories.delete(SEA, forget=forget)
        assert reads(here, commit) == reads(there, commit) == ["repository_not_found"] * 3
        if forget:
            break
        there.repositories.restore(SEA)
        assert reads(here, commit)[0] == reads(there, commit)[0] == "a"


def test_without_the_wait_it_would_be_seen_later(servers, commit, time, monkeypatch):
    monkeypatch.setattr(repositories, "outlast_recent", lambda: None)
    (here, _), (there, _) = servers
    assert reads(there, commit)[0] == "a"
    here.repositories.delete(SEA)
    assert reads(there, commit)[0] == "a"
    time.sleep(RECENT_SECONDS)
    assert reads(there, commit) == ["repository_not_found"] * 3
