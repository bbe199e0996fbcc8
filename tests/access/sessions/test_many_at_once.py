"""All requests of a user miss the cache in the same moment; the user is found once for them."""

from __future__ import annotations

import base64
import threading

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.identities.users import User
from anabranch.access.records.layout import PARTITION, user_key
from anabranch.batching.scheduler import BatchScheduler
from anabranch.errors import Corrupt
from anabranch.model.secret import Secret

KEY = "AKIAIOSFOLQUICKSTART"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
HEADER = "Basic " + base64.b64encode(f"{KEY}:{SECRET}".encode()).decode()


@pytest.fixture
def ready(installation):
    installation.setup.run("quickstart", KeyPair(KEY, Secret(SECRET)))
    installation.setup.ensure_defaults()
    return installation


def scans_of_one(ready):
    """Returns how many listings of records it takes to find a user."""
    ready.authenticator.forget()
    before = ready.store.scans
    assert ready.authenticator.authenticate(HEADER).username == "quickstart"
    assert ready.store.scans > before
    return ready.store.scans - before


def run_all(calls):
    """Runs calls as the batch thread does; returns what each returned or raised."""
    scheduler = BatchScheduler()
    ended = []
    for function, argument in calls:
        scheduler.start(function, (argument,), lambda *outcome: ended.append(outcome))
    while scheduler.busy:
        list(scheduler.steps())
    scheduler.close()
    return [error or result for result, error in ended]


def test_calls_of_a_batch_find_their_user_once(ready):
    alone = scans_of_one(ready)
    ready.authenticator.forget()
    before = ready.store.scans
    actors = run_all([(ready.authenticator.authenticate, HEADER)] * 50)
    assert [actor.username for actor in actors] == ["quickstart"] * 50
    assert ready.store.scans - before == alone


def test_threads_find_their_user_once(ready):
    alone = scans_of_one(ready)
    ready.authenticator.forget()
    before = ready.store.scans
    ready.store.seconds_of_scan = 0.05
    found = []

    def authenticate():
        found.append(ready.authenticator.authenticate(HEADER).username)

    threads = [threading.Thread(target=authenticate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["quickstart"] * 8
    assert ready.store.scans - before == alone


def test_a_change_while_a_user_is_found_counts_for_all_who_come_after_it(ready):
    ready.users.create(User(username="lin", created_at=0))
    before = ready.store.scans
    ready.store.seconds_of_scan = 0.05
    finding = threading.Thread(target=ready.authenticator.find_actor, args=("lin",))
    finding.start()
    while ready.store.scans == before:
        pass
    ready.users.set_active("lin", active=False)
    assert ready.authenticator.find_actor("lin") is None
    finding.join()
    assert ready.authenticator.find_actor("lin") is None


def test_an_error_of_one_user_is_not_that_of_another(ready):
    ready.users.create(User(username="lin", created_at=0))
    ready.store.spoil(PARTITION, user_key("lin"), b"\xff")
    outcomes = run_all(
        [(ready.authenticator.find_actor, "lin"), (ready.authenticator.find_actor, "quickstart")]
    )
    assert isinstance(outcomes[0], Corrupt)
    assert outcomes[1].username == "quickstart"
