"""Ten thousand users, in one group."""

from __future__ import annotations

import pytest

from anabranch.access.identities.groups import Group
from anabranch.access.identities.users import User
from anabranch.access.policies.permissions import Action, Permission, repository_arn

USERS = 10_000
READ = Permission(Action.READ_REPOSITORY, repository_arn("lake"))


@pytest.mark.slow
def test_ten_thousand_users_in_a_group_are_listed_decided_and_removed(installation):
    installation.setup.run("root")
    names = [f"user-{number:05}" for number in range(USERS)]
    installation.groups.create(Group(id="Crew", created_at=0, description=""))
    for name in names:
        installation.users.create(User(username=name, created_at=0))
        installation.memberships.add("Crew", name)
    installation.group_attachments.add("Crew", "FSReadAll")
    for page in (
        lambda after: installation.users.page("user-", after, 1000),
        lambda after: installation.memberships.page("Crew", "", after, 1000),
    ):
        found, after, more = [], "", True
        while more:
            items = page(after)
            found += [getattr(item, "username", item) for item in items.items]
            after, more = items.next_offset, items.has_more
        assert found == names
    assert installation.authenticator.find_actor(names[-1]).may(READ)
    installation.users.delete(names[0])
    assert installation.memberships.page("Crew", "", "", 1).items == names[1:2]
    installation.groups.delete("Crew")
    assert not installation.authenticator.find_actor(names[-1]).may(READ)
