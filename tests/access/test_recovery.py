"""Recovery of an administrator without a working key pair."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.errors import Conflict, Invalid, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.secret import Secret

USER = b"users/superAdmin"
PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


def works(installation, credential) -> bool:
    issued = installation.authenticator.login(credential.access_key_id, credential.secret.reveal())
    actor = installation.authenticator.authenticate(f"Bearer {issued.token.reveal()}")
    return actor.username == credential.username


def test_new_key_pair_replaces_the_old_one(installation):
    installation.setup.run("ada", PAIR)
    user = installation.users.get("ada")
    recovered = installation.recovery.run()
    assert (recovered.user_created, recovered.replaced) == (False, 1)
    assert recovered.credential.username == "ada"
    assert works(installation, recovered.credential)
    assert installation.credentials.find(PAIR.access_key_id) is None
    (left,) = installation.users.page("", "", 100).items
    assert (left.username, left.created_at) == (user.username, user.created_at)
    assert len(list(installation.store.scan("basicAuth"))) == 2


def test_an_administrator_who_was_deleted_is_created_again(installation):
    installation.setup.run("ada", PAIR)
    for key in (USER, b"uCredentials/superAdmin/credentials/" + PAIR.access_key_id.encode()):
        installation.store.spoil("basicAuth", key, None)
    recovered = installation.recovery.run("grace")
    assert (recovered.user_created, recovered.replaced) == (True, 0)
    assert works(installation, recovered.credential)
    assert [user.username for user in installation.users.page("", "", 100).items] == ["grace"]


def test_an_administrator_whose_record_is_damaged_is_created_again(installation):
    installation.setup.run("ada", PAIR)
    installation.store.spoil("basicAuth", USER, b"\xff")
    recovered = installation.recovery.run()
    assert recovered.credential.username == "admin"
    assert (recovered.user_created, recovered.replaced) == (True, 1)
    assert works(installation, recovered.credential)


def test_recovery_without_setup_raises_not_found(installation):
    with pytest.raises(NotFound) as refused:
        installation.recovery.run("ada")
    assert refused.value.kind == "not_set_up"
    assert list(installation.store.scan("basicAuth")) == []
    assert not installation.setup.is_done()


@pytest.mark.parametrize(("name", "error"), [("grace", Conflict), ("a%", Invalid)])
def test_another_name_is_refused_and_changes_nothing(installation, name, error):
    installation.setup.run("ada", PAIR)
    before = list(installation.store.scan("basicAuth"))
    with pytest.raises(error):
        installation.recovery.run(name)
    assert list(installation.store.scan("basicAuth")) == before


class InterruptedStore:
    """A store in which something happens between our reading and our writing, once."""

    def __init__(self, store):
        self._store = store
        self.meanwhile = None

    def apply(self, writes, expect=()):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return self._store.apply(writes, expect)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_concurrent_recovery_is_replaced(installation_over):
    store = MemoryStore()
    installation_over(store).setup.run("ada", PAIR)
    late = InterruptedStore(store)
    first = []
    late.meanwhile = lambda: first.append(installation_over(store).recovery.run())
    second = installation_over(late).recovery.run()
    assert installation_over(store).credentials.find(first[0].credential.access_key_id) is None
    assert works(installation_over(store), second.credential)
    assert len(list(store.scan("basicAuth"))) == 2


def test_a_user_deleted_in_between_is_created(installation_over):
    store = MemoryStore()
    installation_over(store).setup.run("ada", PAIR)
    late = InterruptedStore(store)
    late.meanwhile = lambda: store.apply([Write("basicAuth", USER, None)])
    recovered = installation_over(late).recovery.run()
    assert recovered.user_created
    assert works(installation_over(store), recovered.credential)


def test_concurrent_recoveries_leave_one_key_pair(tmp_path, installation_over):
    store = SQLiteStore(tmp_path / "a.db")
    installation_over(store).setup.run("ada", PAIR)
    servers = [installation_over(store) for _ in range(4)]
    barrier = Barrier(4)

    def work(installation):
        barrier.wait()
        return installation.recovery.run().credential

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(work, servers))
    fresh = installation_over(store)
    left = [one for one in made if fresh.credentials.find(one.access_key_id) is not None]
    assert len(left) == 1
    assert works(fresh, left[0])
    assert len(list(store.scan("basicAuth"))) == 2
    store.close()


def test_recovery_increments_the_version_that_other_servers_poll(installation):
    installation.setup.run("ada")
    before = installation.changes.version()
    installation.recovery.run()
    assert installation.changes.version() != before
