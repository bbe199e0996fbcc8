"""Groups, policies and their relations, by lakefs-sdk."""

from __future__ import annotations

import itertools

import lakefs_sdk
import pytest

USER = "tester"
_numbers = itertools.count(1)


@pytest.fixture
def api(sdk):
    return sdk.auth_api


@pytest.fixture
def group(api):
    name = f"group-{next(_numbers)} é"
    api.create_group(group_creation=lakefs_sdk.GroupCreation(id=name, description="some"))
    yield name
    if name in [each.id for each in api.list_groups(prefix="group-").results]:
        api.delete_group(name)


def statement(**changes):
    values = {"effect": "allow", "resource": "*", "action": ["fs:Read*"]} | changes
    return lakefs_sdk.Statement(**values)


@pytest.fixture
def policy(api):
    name = f"policy-{next(_numbers)}"
    api.create_policy(lakefs_sdk.Policy(id=name, statement=[statement()]))
    yield name
    if name in [each.id for each in api.list_policies(prefix="policy-").results]:
        api.delete_policy(name)


def ids(page):
    return [each.id for each in page.results]


def test_created_group_is_returned_and_deleted_once(api, group, refused):
    created = api.get_group(group)
    assert (created.id, created.name, created.description) == (group, group, "some")
    assert created.creation_date > 0
    with refused(409, "Already exists"):
        api.create_group(group_creation=lakefs_sdk.GroupCreation(id=group))
    api.delete_group(group)
    for call in (api.get_group, api.delete_group, api.list_group_members, api.list_group_policies):
        with refused(404, "group not found"):
            call(group)


def test_members_of_a_group(api, group, refused):
    api.add_group_membership(group, USER)
    with refused(409):
        api.add_group_membership(group, USER)
    assert ids(api.list_group_members(group)) == [USER]
    assert group in ids(api.list_user_groups(USER))
    with refused(404, "user not found"):
        api.add_group_membership(group, "nobody")
    api.delete_group_membership(group, USER)
    with refused(404):
        api.delete_group_membership(group, USER)
    assert ids(api.list_group_members(group)) == []
    assert group not in ids(api.list_user_groups(USER))


def test_policy_keeps_conditions_and_several_resources(api, policy, refused):
    conditional = statement(
        effect="deny",
        resource='["arn:lakefs:fs:::repository/a","arn:lakefs:fs:::repository/b"]',
        condition={"IpAddress": {"SourceIp": ["10.0.0.0/8"]}},
    )
    changed = lakefs_sdk.Policy(id=policy, statement=[statement(), conditional])
    assert api.update_policy(policy, changed).statement == changed.statement
    assert api.get_policy(policy).statement == changed.statement
    with refused(400):
        api.update_policy("other", changed)
    with refused(409):
        api.create_policy(changed)
    with refused(404):
        api.update_policy("none", lakefs_sdk.Policy(id="none", statement=[statement()]))
    api.delete_policy(policy)
    for call in (api.get_policy, api.delete_policy):
        with refused(404, "policy not found"):
            call(policy)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action": ["fs:Nothing"]}, "statement 1: action: no action is called 'fs:Nothing'"),
        ({"resource": "repository/a"}, "statement 1: resource: malformed name 'repository/a'"),
        ({"condition": {"Often": {}}}, "statement 1: condition: no operator is called 'Often'"),
    ],
)
def test_invalid_policy_is_refused_and_not_stored(api, refused, changes, message):
    bad = lakefs_sdk.Policy(id="bad", statement=[statement(), statement(**changes)])
    with refused(400, message):
        api.create_policy(bad)
    with refused(404):
        api.get_policy("bad")


def test_policy_longer_than_64_kib_is_refused(api, refused):
    long = statement(resource="arn:lakefs:fs:::repository/" + "x" * 65536)
    with refused(400):
        api.create_policy(lakefs_sdk.Policy(id="long", statement=[long]))


def test_effective_policies_include_those_of_groups(api, group, policy, refused):
    own = policy + "-own"
    api.create_policy(lakefs_sdk.Policy(id=own, statement=[statement()]))
    api.add_group_membership(group, USER)
    api.attach_policy_to_group(group, policy)
    api.attach_policy_to_user(USER, own)
    with refused(409):
        api.attach_policy_to_group(group, policy)
    with refused(404):
        api.attach_policy_to_user(USER, "none")
    assert ids(api.list_group_policies(group)) == [policy]
    assert ids(api.list_user_policies(USER, prefix=policy)) == [own]
    assert ids(api.list_user_policies(USER, prefix=policy, effective=True)) == [policy, own]
    page = api.list_user_policies(USER, prefix=policy, effective=True, amount=1)
    assert (ids(page), page.pagination.next_offset) == ([policy], policy)
    api.detach_policy_from_group(group, policy)
    assert ids(api.list_user_policies(USER, prefix=policy, effective=True)) == [own]
    api.detach_policy_from_user(USER, own)
    with refused(404):
        api.detach_policy_from_user(USER, own)
    api.delete_policy(own)


def test_pages_of_groups_have_prefix_and_offset(api):
    names = [f"page-{number}" for number in range(5)]
    for name in names:
        api.create_group(group_creation=lakefs_sdk.GroupCreation(id=name))
    first = api.list_groups(prefix="page-", amount=2)
    assert first.pagination.has_more
    assert first.pagination.max_per_page == 0
    rest = api.list_groups(prefix="page-", after=first.pagination.next_offset)
    assert ids(first) + ids(rest) == names
    assert not rest.pagination.has_more
    for name in names:
        api.delete_group(name)


@pytest.mark.parametrize("name", ["a%b", "", "a/b"])
def test_invalid_name_is_refused(api, refused, name):
    with refused(400):
        api.create_group(group_creation=lakefs_sdk.GroupCreation(id=name))
    with refused(400):
        api.create_policy(lakefs_sdk.Policy(id=name, statement=[statement()]))
