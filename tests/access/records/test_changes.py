"""Changes of access control: what a change has read is of one version, or is read again."""

from __future__ import annotations

import threading

import pytest

from anabranch.access.identities.users import User
from anabranch.access.records.layout import PARTITION, policy_key
from anabranch.errors import AlreadyExists, Conflict, NotFound
from anabranch.keyvalue.contract import Write

ADA = User(username="ada", created_at=0, external_id="ada at the provider")


def change(installation, writes_for, attempts=None):
    """Makes a change whose writes depend on the number of the attempt; counts attempts."""
    attempts = [] if attempts is None else attempts
    for attempt in installation.changes.attempts():
        attempts.append(attempt)
        with attempt:
            attempt.write(writes_for(len(attempts)))


def test_an_attempt_that_fails_because_of_a_change_in_between_is_followed_by_another(installation):
    users = installation.users
    seen = []
    for attempt in installation.changes.attempts():
        with attempt:
            known = users.find_by_external_id(ADA.external_id)
            seen.append(known)
            if len(seen) == 1:
                users.create(ADA)  # by another server, after the search and before the check
            attempt.write([] if known else users.creation(ADA))
    assert [user is not None for user in seen] == [False, True]


def test_an_attempt_that_fails_without_a_change_in_between_is_the_last(installation):
    attempts = []
    installation.users.create(ADA)
    with pytest.raises(AlreadyExists):
        change(installation, lambda _: installation.users.creation(ADA), attempts)
    assert len(attempts) == 1


def test_what_remains_false_after_the_change_in_between_is_raised(installation):
    attempts = []

    def writes(number):
        if number == 1:
            installation.users.create(User(username="bob", created_at=0))
        return installation.users.replacement(ADA)

    with pytest.raises(NotFound):
        change(installation, writes, attempts)
    assert len(attempts) == 2


def test_writes_that_the_guard_refuses_are_not_made(installation):
    installation.setup.run("root")
    version = installation.changes.version()
    with pytest.raises(Conflict, match="administrator"):
        change(installation, lambda _: [Write(PARTITION, policy_key("FSFullAccess"), None)] * 2)
    assert installation.changes.version() == version


def test_an_error_of_another_kind_ends_the_change_and_writes_nothing(installation):
    def writes(_):
        installation.users.create(User(username="bob", created_at=0))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change(installation, writes)
    assert installation.users.find_by_external_id(ADA.external_id) is None


def test_an_attempt_without_writes_changes_nothing(installation):
    version, attempts = installation.changes.version(), []
    for attempt in installation.changes.attempts():
        attempts.append(attempt)
        with attempt:
            continue
    assert (len(attempts), installation.changes.version()) == (1, version)


def test_identities_that_are_sought_and_created_at_once_are_created_once(installation):
    users, changes = installation.users, installation.changes
    failures = []

    def provide():
        try:
            for attempt in changes.attempts():
                with attempt:
                    if not users.find_by_external_id(ADA.external_id):
                        attempt.write(users.creation(ADA))
        except AlreadyExists as error:
            failures.append(error)

    threads = [threading.Thread(target=provide) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert users.page("", "", 10).items == [users.get("ada")]
