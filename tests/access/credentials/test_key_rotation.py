"""Encryption of all secrets with a new key."""

from __future__ import annotations

import threading

import pytest

from anabranch.access.access import Access
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.errors import Busy, Corrupt, Unauthenticated
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret
from anabranch.testing.stores import FaultyStore, fail_at

OLD, NEW = "the-earlier-key-of-all", "the-new-key-of-all"


def access_over(store, key, other=""):
    return Access(store, Secret(key), other_key=Secret(other))


def test_interrupted_rotation_is_continued():
    store = MemoryStore()
    before = access_over(store, OLD)
    first = before.setup.run("root")
    credentials = [first, *(before.credentials.create("root") for _ in range(4))]
    both = access_over(store, NEW, OLD)
    failing = FaultyStore(store, fail_at("apply", 3, Busy("lost")))
    with pytest.raises(Busy):
        access_over(failing, NEW, OLD).key_rotation.run()
    for each in credentials:
        assert both.credentials.find(each.access_key_id) == each
    result = both.key_rotation.run()
    assert result.rotated + result.current == 5
    assert result.current > 0
    after = access_over(store, NEW)
    for each in credentials:
        assert after.credentials.find(each.access_key_id) == each
    with pytest.raises(Corrupt):
        before.credentials.find(first.access_key_id)


def test_rotation_while_keys_are_created_and_deleted_keeps_all_of_them():
    store = MemoryStore()
    both, other = access_over(store, NEW, OLD), access_over(store, OLD, NEW)
    other.setup.run("root")
    kept, stop = [], threading.Event()

    def change():
        while not stop.is_set() and len(kept) < 90:
            kept.append(other.credentials.create("root"))
            other.credentials.delete("root", other.credentials.create("root").access_key_id)

    thread = threading.Thread(target=change)
    thread.start()
    while len(kept) < 20:
        both.key_rotation.run()
    stop.set()
    thread.join()
    both.key_rotation.run()
    after = access_over(store, NEW)
    for each in kept:
        assert after.credentials.find(each.access_key_id) == each


def test_secret_that_no_key_decrypts_is_named():
    store = MemoryStore()
    access_over(store, OLD).setup.run("root")
    lost = access_over(store, "a third key").credentials.create("root")
    result = access_over(store, NEW, OLD).key_rotation.run()
    assert (result.rotated, result.unreadable) == (1, [lost.access_key_id])


def test_token_of_an_unknown_key_is_refused():
    store = MemoryStore()
    token = access_over(store, "a third key").tokens.issue("root", SessionBinding()).token.reveal()
    with pytest.raises(Unauthenticated):
        access_over(store, NEW, OLD).tokens.verify(token)
