"""Users, access keys, groups, policies and their relations, by lakefs-sdk."""

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
        ({"action": ["fs:Nothing"]}, "statement 2: action: no action is called 'fs:Nothing'"),
        ({"resource": "repository/a"}, "statement 2: resource: malformed name 'repository/a'"),
        ({"condition": {"Often": {}}}, "statement 2: condition: no operator is called 'Often'"),
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


@pytest.fixture
def user(api):
    name = f"user-{next(_numbers)} é"
    api.create_user(user_creation=lakefs_sdk.UserCreation(id=name))
    yield name
    if name in [each.id for each in api.list_users(prefix="user-").results]:
        api.delete_user(name)


def test_created_user_is_returned_and_deleted_once(api, user, refused):
    found = api.get_user(user)
    assert found.id == user
    assert found.creation_date > 0
    with refused(409, "Already exists"):
        api.create_user(user_creation=lakefs_sdk.UserCreation(id=user))
    api.delete_user(user)
    for call in (api.get_user, api.delete_user, api.list_user_credentials, api.list_user_groups):
        with refused(404, "user not found"):
            call(user)


def test_users_are_listed_in_pages(api):
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        api.create_user(user_creation=lakefs_sdk.UserCreation(id=name))
    found, after = [], ""
    while True:
        page = api.list_users(prefix="paged-", after=after, amount=2)
        found += ids(page)
        if not page.pagination.has_more:
            break
        after = page.pagination.next_offset
    assert found == names
    for name in names:
        api.delete_user(name)


def test_user_has_several_keys_whose_secrets_are_shown_once(api, make_sdk, user, refused):
    keys = [api.create_credentials(user) for _ in range(3)]
    listed = api.list_user_credentials(user).results
    assert sorted(each.access_key_id for each in listed) == sorted(
        each.access_key_id for each in keys
    )
    assert not any(hasattr(each, "secret_access_key") for each in listed)
    first, second, third = keys
    found = api.get_credentials(user, first.access_key_id)
    assert found.creation_date == first.creation_date
    for key in keys:
        client = make_sdk(username=key.access_key_id, password=key.secret_access_key)
        assert client.auth_api.get_current_user().user.id == user
    api.delete_credentials(user, first.access_key_id)
    with refused(404, "credentials not found"):
        api.get_credentials(user, first.access_key_id)
    with refused(404, "credentials not found"):
        api.delete_credentials(USER, second.access_key_id)
    gone = make_sdk(username=first.access_key_id, password=first.secret_access_key)
    with refused(401):
        gone.auth_api.get_current_user()
    api.delete_user(user)
    api.create_user(user_creation=lakefs_sdk.UserCreation(id=user))
    assert api.list_user_credentials(user).results == []
    again = make_sdk(username=third.access_key_id, password=third.secret_access_key)
    with refused(401):
        again.auth_api.get_current_user()


def test_user_may_do_what_policies_of_groups_allow(api, make_sdk, user, refused):
    key = api.create_credentials(user)
    client = make_sdk(username=key.access_key_id, password=key.secret_access_key)
    with refused(401):
        client.repositories_api.list_repositories()
    api.add_group_membership("Viewers", user)
    client.repositories_api.list_repositories()
    with refused(401):
        client.auth_api.list_users()
    with refused(401):
        client.auth_api.add_group_membership("Admins", user)
    names = ids(api.list_user_policies(user, effective=True))
    assert names == ["AuthManageOwnCredentials", "FSReadAll"]
    api.delete_group_membership("Viewers", user)
    with refused(401):
        client.repositories_api.list_repositories()


def test_external_principals_of_a_user(sdk, user, refused):
    api, principal = sdk.external_api, f"arn:aws:sts::1:assumed-role/role-{next(_numbers)}"
    settings = lakefs_sdk.ExternalPrincipalCreation(settings=[{"a": "b"}])
    api.create_user_external_principal(user, principal, external_principal_creation=settings)
    found = api.get_external_principal(principal)
    assert (found.id, found.user_id, found.settings) == (principal, user, [{"a": "b"}])
    assert ids(api.list_user_external_principals(user)) == [principal]
    with refused(409):
        api.create_user_external_principal(USER, principal)
    api.delete_user_external_principal(user, principal)
    with refused(404):
        api.get_external_principal(principal)
