"""Changes of a branch that are made while the ones before them are being written."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.eventually import eventually

from anabranch.errors import Busy, MergeConflict

FATES = ["made", "fails", "overtaken"]


class HeldWrite:
    """Holds the write by which one thread moves `main`, until it is told what becomes of it."""

    def __init__(self, versions, other):
        self.versions, self.other = versions, other
        self.began, self.released = threading.Event(), threading.Event()
        self.fate = ""
        self.thread = None
        versions.keyvalue.before = self.before

    def before(self, operation, _subject):
        if operation == "apply" and threading.get_ident() == self.thread:
            self.thread = None
            self.began.set()
            assert self.released.wait(30)
            if self.fate == "fails":
                raise Busy("the disk is full", kind="disk_full")
            if self.fate == "overtaken":
                self.other.commit("main", elsewhere="x")

    def merge(self, source):
        self.thread = threading.get_ident()
        return self.versions.merge(source, "main")

    def end(self, fate):
        self.fate = fate
        self.released.set()


@pytest.fixture
def held(versions, other):
    return HeldWrite(versions, other)


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def under_way(versions):
    """Returns how many moves of `main` are made, and not written."""
    last = versions.core.committer._moves.last((versions.repository.partition, "main"))
    return len(last.under_way()) if last else 0


def branches(versions, **contents):
    """Creates branches of `main`, each with a commit of one object."""
    for name, (path, word) in contents.items():
        versions.branch(name)
        versions.commit(name, **{path: word})


@pytest.mark.parametrize("fate", FATES)
def test_a_merge_is_made_while_the_one_before_is_written(versions, held, pool, fate):
    before = versions.commit("main", base="x")
    branches(versions, one=("a", "1"), two=("b", "2"), three=("c", "3"))
    first = pool.submit(held.merge, "one")
    assert held.began.wait(30)
    others = [pool.submit(versions.merge, name, "main") for name in ("two", "three")]
    eventually(lambda: under_way(versions) == 3)
    assert versions.head("main") == before
    assert not any(each.done() for each in others)
    held.end(fate)
    made = {each.result(30).id for each in others}
    wanted = {"base": "x", "a": "1", "b": "2", "c": "3"}
    if fate == "fails":
        with pytest.raises(Busy):
            first.result(30)
        del wanted["a"]
    else:
        made.add(first.result(30).id)
    if fate == "overtaken":
        wanted["elsewhere"] = "x"
    assert versions.contents("main@") == wanted
    line = []
    commit = versions.head("main")
    while commit.id != before.id:
        line.append(commit.id)
        commit = versions.core.commits.get(versions.repository, commit.parents[0])
    assert made <= set(line)
    assert len(line) == len(made) + (fate == "overtaken")


@pytest.mark.parametrize("fate", FATES)
def test_a_conflict_with_a_change_that_is_not_made_refuses_nothing(versions, held, pool, fate):
    versions.commit("main", base="x")
    branches(versions, one=("a", "1"), two=("a", "2"))
    first = pool.submit(held.merge, "one")
    assert held.began.wait(30)
    second = pool.submit(versions.merge, "two", "main")
    held.end(fate)
    if fate == "fails":
        with pytest.raises(Busy):
            first.result(30)
        second.result(30)
        assert versions.contents("main@")["a"] == "2"
        return
    # whichever of the two is made again first is in the branch
    failures = [each.exception(30) for each in (first, second)]
    refused = [failure for failure in failures if failure is not None]
    assert [type(failure) for failure in refused] == [MergeConflict]
    if fate == "made":
        assert failures[0] is None
        assert versions.contents("main@")["a"] == "1"


def test_a_commit_that_is_not_written_yet_is_found_by_nobody_else(versions, held, pool):
    versions.commit("main", base="x")
    branches(versions, one=("a", "1"), two=("b", "2"))
    known = {commit.id for commit in versions.core.commits.all(versions.repository)}
    first = pool.submit(held.merge, "one")
    assert held.began.wait(30)
    second = pool.submit(versions.merge, "two", "main")
    eventually(lambda: under_way(versions) == 2)
    cached = {key[1] for key in versions.core.commits._cache}
    assert cached <= known
    held.end("fails")
    with pytest.raises(Busy):
        first.result(30)
    made = second.result(30)
    assert versions.head("main") == made


def test_staged_changes_are_sealed_after_the_move_under_way(versions, held, pool):
    versions.commit("main", base="x")
    branches(versions, one=("a", "1"))
    first = pool.submit(held.merge, "one")
    assert held.began.wait(30)
    versions.put("main", b="2")
    second = pool.submit(versions.commit_staged, "main")
    held.end("made")
    first.result(30)
    second.result(30)
    assert versions.contents("main@") == {"base": "x", "a": "1", "b": "2"}
