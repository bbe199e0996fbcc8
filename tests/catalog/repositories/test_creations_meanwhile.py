"""Creations of repositories that stop after the mark of their storage namespace, while others
create, delete and purge: a storage namespace is never that of two repositories.
"""

from __future__ import annotations

import time

import pytest

from anabranch.catalog.repositories.repositories import MARK_KEY, Repositories
from anabranch.errors import AnabranchError


class MarkedThen:
    """Blocks that call `then` once, after the mark was written or found."""

    def __init__(self, blocks, then):
        self._blocks = blocks
        self._then = [then]

    def __getattr__(self, name):
        return getattr(self._blocks, name)

    def put(self, address, *arguments, **options):
        try:
            return self._blocks.put(address, *arguments, **options)
        finally:
            if address.endswith(MARK_KEY) and self._then:
                self._then.pop()()


def creating(lake, then):
    return Repositories(lake.core, MarkedThen(lake.blocks, then), lake.images)


def owners(lake, namespace="local://n"):
    return [each.id for each in lake.core.repositories.all() if each.storage_namespace == namespace]


def purged(lake):
    """As a purge of the namespace does it."""
    left = lake.core.repositories.left
    left.claim("local://n", "token")
    lake.blocks.delete([f"local://n/{MARK_KEY}"])
    left.release("local://n", "token")


def test_a_creation_does_not_go_on_in_the_namespace_of_a_later_repository(lake):
    def meanwhile():
        lake.repositories.create("one", "local://n")  # the same creation, by a repeated request
        lake.repositories.delete("one", force=True)
        purged(lake)
        lake.repositories.create("two", "local://n")

    with pytest.raises(AnabranchError) as raised:
        creating(lake, meanwhile).create("one", "local://n")
    assert raised.value.kind == "storage_namespace_in_use"
    assert owners(lake) == ["two"]


def test_a_repeated_creation_does_not_bring_a_deleted_repository_back(lake):
    def meanwhile():
        lake.repositories.create("one", "local://n")
        lake.repositories.delete("one", force=True)

    with pytest.raises(AnabranchError) as raised:
        creating(lake, meanwhile).create("one", "local://n")
    assert raised.value.kind == "storage_namespace_in_use"
    assert owners(lake) == []


def test_a_mark_that_a_purge_has_removed_is_written_again(lake):
    creating(lake, lambda: purged(lake)).create("one", "local://n")
    assert lake.blocks.stat(f"local://n/{MARK_KEY}") is not None
    with pytest.raises(AnabranchError) as raised:
        lake.repositories.create("two", "local://n")
    assert raised.value.kind == "storage_namespace_in_use"
    assert owners(lake) == ["one"]


def test_a_creation_whose_record_another_has_replaced_keeps_one_owner(lake):
    def meanwhile():
        lake.repositories.create("one", "local://elsewhere")

    with pytest.raises(AnabranchError) as raised:
        creating(lake, meanwhile).create("one", "local://n")
    assert raised.value.kind == "repository_already_exists"
    assert owners(lake) == []


def test_a_creation_while_purges_of_others_go_on_succeeds(lake):
    def meanwhile():
        lake.core.repositories.left.claim("local://another", str(time.time()))

    creating(lake, meanwhile).create("one", "local://n")
    assert owners(lake) == ["one"]
