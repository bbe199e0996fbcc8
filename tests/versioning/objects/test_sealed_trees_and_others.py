"""Trees of sealed areas while other processes and threads change the branch."""

from __future__ import annotations

import threading

import pytest

from .many_objects import MANY, name

FEW = 100
"""Enough objects: these tests ask for the tree themselves."""


class Interloper:
    """Another process, which changes a branch with many staged deletions in one of several ways;
    `contents` is what the branch has to show.
    """

    def __init__(self, versions, contents):
        self.versions = versions
        self.repository = versions.repository
        self.contents = contents
        self.committed = {name(number): "x" for number in range(FEW)}

    def commit(self):
        self.versions.commit_staged("work")

    def seal(self):
        self.versions.core.committer.seal(self.repository, "work")

    def put(self):
        self.versions.put("work", **{name(1): "put"})
        self.contents |= {name(1): "put"}

    def remove(self):
        self.versions.remove("work", name(FEW - 1))
        del self.contents[name(FEW - 1)]

    def reset(self):
        self.versions.core.reset.reset(self.repository, "work", "reset")
        self.contents = self.committed

    def create_again(self):
        head = self.versions.head("work")
        self.versions.core.branches.delete(self.repository, "work")
        self.versions.core.branches.create(self.repository, "work", head.id)
        self.contents = self.committed


@pytest.mark.parametrize("step", range(1, 10))
@pytest.mark.parametrize("act", ["commit", "seal", "put", "remove", "reset", "create_again"])
@pytest.mark.sample(18)
def test_others_between_any_two_steps(versions, other, act, step):
    """At each call of the store while a tree is built, another process changes the branch."""
    versions.commit("main", **{name(number): "x" for number in range(FEW)})
    versions.branch("work")
    versions.remove("work", *(name(number) for number in range(FEW - 1)))
    repository, trees = versions.repository, versions.core.sealed_trees
    interloper = Interloper(other, {name(FEW - 1): "x"})
    steps = 0

    def before(_operation, _subject):
        nonlocal steps
        steps += 1
        if steps == step:
            getattr(interloper, act)()

    trees.ask(repository, versions.core.references.resolve(repository, "work"), MANY)
    versions.keyvalue.before = before
    trees.build()
    versions.keyvalue.before = lambda _operation, _subject: None
    if steps < step:
        getattr(interloper, act)()
    for each in (versions, other):
        assert each.contents("work") == interloper.contents
    trees.ask(repository, versions.core.references.resolve(repository, "work"), MANY)
    trees.build()
    assert versions.contents("work") == interloper.contents
    versions.put("work", last="x")
    versions.commit_staged("work")
    assert other.contents("work@") == interloper.contents | {"last": "x"}


def test_the_steps_are_all_of_them(versions):
    versions.commit("main", **{name(number): "x" for number in range(FEW)})
    versions.remove("main", *(name(number) for number in range(FEW - 1)))
    steps = []
    repository, core = versions.repository, versions.core
    core.sealed_trees.ask(repository, core.references.resolve(repository, "main"), MANY)
    versions.keyvalue.before = lambda operation, _subject: steps.append(operation)
    assert core.sealed_trees.build() == 1
    assert len(steps) < 10, steps


def test_readers_writers_and_builder_at_once(versions):
    """Readers see each deletion that was acknowledged before they began, and none too many."""
    versions.commit("main", **{name(number): "x" for number in range(3000)})
    deleted = 0
    failures = []
    ended = threading.Event()

    def build():
        core, repository = versions.core, versions.repository
        while not ended.is_set():
            core.sealed_trees.ask(repository, core.references.resolve(repository, "main"), MANY)
            core.sealed_trees.build()

    def read():
        while not ended.is_set():
            least = deleted
            page = versions.core.objects.listing(versions.repository, "main", amount=1)
            first = int(page.rows()[0][0][1:])
            # one deletion may be made and not yet counted
            if not least <= first <= deleted + 10:
                failures.append((least, first, deleted))

    threads = [threading.Thread(target=target) for target in (build, read, read)]
    for thread in threads:
        thread.start()
    try:
        for first in range(0, 2990, 10):
            versions.remove("main", *(name(number) for number in range(first, first + 10)))
            deleted = first + 10
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not failures


def test_what_was_resolved_before_shows_what_it_named(versions):
    """A reader of several pages that resolved the branch once is given no newer areas."""
    versions.commit("main", **{name(number): "x" for number in range(FEW)})
    repository, core = versions.repository, versions.core

    def build():
        resolved = core.references.resolve(repository, "main")
        core.sealed_trees.ask(repository, resolved, MANY)
        assert core.sealed_trees.build() == 1

    versions.remove("main", name(0))
    before = core.references.resolve(repository, "main")
    build()
    versions.remove("main", name(1))
    build()
    page = core.objects.listing_at(repository, before, amount=2)
    assert [key.decode() for key, _ in page.rows()] == [name(1), name(2)]
    assert core.objects.entry_at(repository, before, name(1)) is not None
    now = core.references.resolve(repository, "main")
    assert core.objects.entry_at(repository, now, name(1)) is None
