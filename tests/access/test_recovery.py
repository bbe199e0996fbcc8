"""A new key pair for an administrator who has none that works."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from anabranch.access.credentials import KeyPair
from anabranch.errors import Conflict, Invalid, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.sqlite import SQLiteStore
from anabranch.model.secret import Secret

USER = b"users/superAdmin"
PAIR = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


def works(house, credential) -> bool:
    issued = house.authenticator.login(credential.access_key_id, credential.secret.reveal())
    actor = house.authenticator.authenticate(f"Bearer {issued.token.reveal()}")
    return actor.username == credential.username


def test_the_new_pair_takes_the_place_of_the_old_one(house):
    house.setup.run("ada", PAIR)
    user = house.users.get("ada")
    recovered = house.recovery.run()
    assert (recovered.user_created, recovered.replaced) == (False, 1)
    assert recovered.credential.username == "ada"
    assert works(house, recovered.credential)
    assert house.credentials.find(PAIR.access_key_id) is None
    assert house.users.all() == [user]
    assert len(list(house.store.scan("basicAuth"))) == 2


def test_an_administrator_who_was_deleted_is_created_again(house):
    house.setup.run("ada", PAIR)
    for key in (USER, b"uCredentials/superAdmin/credentials/" + PAIR.access_key_id.encode()):
        house.store.spoil("basicAuth", key, None)
    recovered = house.recovery.run("grace")
    assert (recovered.user_created, recovered.replaced) == (True, 0)
    assert works(house, recovered.credential)
    assert [user.username for user in house.users.all()] == ["grace"]


def test_an_administrator_whose_record_is_damaged_is_created_again(house):
    house.setup.run("ada", PAIR)
    house.store.spoil("basicAuth", USER, b"\xff")
    recovered = house.recovery.run()
    assert recovered.credential.username == "admin"
    assert (recovered.user_created, recovered.replaced) == (True, 1)
    assert works(house, recovered.credential)


def test_an_installation_that_was_never_set_up_stays_so(house):
    with pytest.raises(NotFound) as refused:
        house.recovery.run("ada")
    assert refused.value.kind == "not_set_up"
    assert list(house.store.scan("basicAuth")) == []
    assert not house.setup.is_done()


@pytest.mark.parametrize(("name", "error"), [("grace", Conflict), ("a%", Invalid)])
def test_another_name_is_refused_and_changes_nothing(house, name, error):
    house.setup.run("ada", PAIR)
    before = list(house.store.scan("basicAuth"))
    with pytest.raises(error):
        house.recovery.run(name)
    assert list(house.store.scan("basicAuth")) == before


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


def test_another_recovery_in_between_is_replaced_whole(house_over):
    store = MemoryStore()
    house_over(store).setup.run("ada", PAIR)
    late = InterruptedStore(store)
    first = []
    late.meanwhile = lambda: first.append(house_over(store).recovery.run())
    second = house_over(late).recovery.run()
    assert house_over(store).credentials.find(first[0].credential.access_key_id) is None
    assert works(house_over(store), second.credential)
    assert len(list(store.scan("basicAuth"))) == 2


def test_a_user_deleted_in_between_is_created(house_over):
    store = MemoryStore()
    house_over(store).setup.run("ada", PAIR)
    late = InterruptedStore(store)
    late.meanwhile = lambda: store.apply([Write("basicAuth", USER, None)])
    recovered = house_over(late).recovery.run()
    assert recovered.user_created
    assert works(house_over(store), recovered.credential)


def test_of_many_recoveries_at_once_one_pair_is_left(tmp_path, house_over):
    store = SQLiteStore(tmp_path / "a.db")
    house_over(store).setup.run("ada", PAIR)
    houses = [house_over(store) for _ in range(4)]
    barrier = Barrier(4)

    def work(house):
        barrier.wait()
        return house.recovery.run().credential

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(work, houses))
    fresh = house_over(store)
    left = [one for one in made if fresh.credentials.find(one.access_key_id) is not None]
    assert len(left) == 1
    assert works(fresh, left[0])
    assert len(list(store.scan("basicAuth"))) == 2
    store.close()
