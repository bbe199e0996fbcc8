"""Changes of access control: what a change has read is of one version, or is read again."""

from __future__ import annotations

import threading

import pytest

from anabranch.access.identities.users import User
from anabranch.errors import AlreadyExists, NotFound

ADA = User(username="ada", created_at=0, external_id="ada at the provider")


def test_a_plan_that_fails_because_of_a_change_in_between_is_made_again(installation):
    users, changes = installation.users, installation.changes
    seen = []

    def plan():
        known = users.find_by_external_id(ADA.external_id)
        seen.append(known)
        if len(seen) == 1:
            users.create(ADA)  # by another server, after the search and before the check
        return [] if known else users.creation(ADA)

    changes.apply(plan)
    assert [user is not None for user in seen] == [False, True]


def test_a_plan_that_fails_without_a_change_in_between_is_made_once(installation):
    plans = []

    def plan():
        plans.append(1)
        return installation.users.creation(ADA)

    installation.users.create(ADA)
    with pytest.raises(AlreadyExists):
        installation.changes.apply(plan)
    assert plans == [1]


def test_what_remains_false_after_the_change_in_between_is_raised(installation):
    plans = []

    def plan():
        plans.append(1)
        if len(plans) == 1:
            installation.users.create(User(username="bob", created_at=0))
        return installation.users.replacement(ADA)

    with pytest.raises(NotFound):
        installation.changes.apply(plan)
    assert plans == [1, 1]


def test_identities_that_are_sought_and_created_at_once_are_created_once(installation):
    users, changes = installation.users, installation.changes
    failures = []

    def provide():
        def plan():
            return [] if users.find_by_external_id(ADA.external_id) else users.creation(ADA)

        try:
            changes.apply(plan)
        except AlreadyExists as error:
            failures.append(error)

    threads = [threading.Thread(target=provide) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert users.page("", "", 10).items == [users.get("ada")]
