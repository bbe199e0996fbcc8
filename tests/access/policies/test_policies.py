"""Stored policies, and those that apply to users."""

from __future__ import annotations

import pytest

from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import AlreadyExists, Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.records import lakefs_pb2 as records

READ = Statement(Effect.ALLOW, ("fs:Read*",), ("*",))
CONDITIONAL = Statement(
    Effect.DENY,
    ("fs:*", "auth:*"),
    ("arn:lakefs:fs:::repository/a", "arn:lakefs:fs:::repository/b,c"),
    {"IpAddress": {"SourceIp": ("10.0.0.0/8", "192.0.2.1/32")}},
)


def policy(name, *statements, acl=""):
    return Policy(id=name, created_at=7, statements=statements or (READ,), acl=acl)


def write(installation, *writes):
    assert installation.store.apply([Write("auth", key, value) for key, value in writes])


def user(name):
    return f"users/{name}".encode(), records.UserData(username=name).SerializeToString()


def test_created_policy_is_read_back_with_conditions_and_several_resources(installation):
    stored = policy("a ä b", READ, CONDITIONAL, acl="Write")
    installation.policies.create(stored)
    assert installation.policies.get("a ä b") == stored


def test_resource_of_a_record_is_a_name_or_a_list_of_names(installation):
    installation.policies.create(policy("both", READ, CONDITIONAL))
    record = records.PolicyData.FromString(installation.store.get("auth", b"policies/both"))
    assert [statement.resource for statement in record.statement] == [
        "*",
        '["arn:lakefs:fs:::repository/a","arn:lakefs:fs:::repository/b,c"]',
    ]


def test_creating_a_policy_twice_raises_already_exists_and_changes_nothing(installation):
    installation.policies.create(policy("one"))
    version = installation.changes.version()
    with pytest.raises(AlreadyExists):
        installation.policies.create(policy("one", CONDITIONAL))
    assert installation.policies.get("one").statements == (READ,)
    assert installation.changes.version() == version


def test_replacing_a_policy_keeps_its_creation_date(installation):
    installation.policies.create(policy("one"))
    installation.policies.replace("one", (CONDITIONAL,))
    assert installation.policies.get("one") == policy("one", CONDITIONAL)


def test_missing_policy_raises_not_found(installation):
    for call in (installation.policies.get, lambda name: installation.policies.replace(name, ())):
        with pytest.raises(NotFound):
            call("none")


@pytest.mark.parametrize(
    "name", ["", "a%b", "a\nb", "a\0", "x" * 513, "\ud800", "a/users/b", "a/b"]
)
def test_invalid_name_is_refused(installation, name):
    with pytest.raises(Invalid):
        installation.policies.create(policy(name))
    assert installation.changes.version() == b""


def test_pages_of_policies_have_prefix_and_offset(installation):
    names = ["a", "a-b", "ab", "b", "ä"]
    for name in reversed(names):
        installation.policies.create(policy(name))

    def page(prefix="", after="", amount=10):
        page = installation.policies.page(prefix, after, amount)
        return [item.id for item in page.items], page.next_offset

    assert page() == (names, "")
    assert page(amount=2) == (["a", "a-b"], "a-b")
    assert page(after="a-b", amount=3) == (["ab", "b", "ä"], "")
    assert page(prefix="a") == (["a", "a-b", "ab"], "")
    assert page(prefix="a", after="a", amount=1) == (["a-b"], "a-b")
    assert page(prefix="a", after="z") == ([], "")


def test_every_change_increments_the_version(installation):
    versions = [installation.changes.version()]
    installation.policies.create(policy("one"))
    versions.append(installation.changes.version())
    installation.policies.replace("one", ())
    versions.append(installation.changes.version())
    assert versions == [b"", b"1", b"2"]


def test_change_is_tried_again_when_another_server_changed_a_record(
    installation, installation_over
):
    other = installation_over(installation.store)
    attempts = []
    for attempt in installation.changes.attempts():
        attempts.append(attempt)
        with attempt:
            if len(attempts) == 1:
                other.policies.create(policy("meanwhile"))
            attempt.write([Write("auth", b"policies/mine", b"")])
    assert len(attempts) == 2
    assert installation.changes.version() == b"2"


def test_unreadable_policy_raises_corrupt(installation):
    effect = records.PolicyData(statement=[{"effect": "perhaps"}]).SerializeToString()
    resources = records.PolicyData(statement=[{"effect": "allow", "resource": "[1"}])
    write(
        installation,
        (b"policies/a", b"\xff"),
        (b"policies/b", effect),
        (b"policies/c", resources.SerializeToString()),
    )
    for name in "abc":
        with pytest.raises(Corrupt):
            installation.policies.get(name)


def test_effective_policies_are_own_and_those_of_groups_without_duplicates(installation):
    for name in ("own", "both", "ours", "theirs"):
        installation.policies.create(policy(name))
    write(
        installation,
        user("ann"),
        (b"groups/g", b""),
        (b"groups/h", b""),
        (b"gUsers/g/users/ann", b""),
        (b"gUsers/h/users/annie", b""),
        (b"gPolicies/g/policies/ours", b""),
        (b"gPolicies/g/policies/both", b""),
        (b"gPolicies/g/policies/deleted", b""),
        (b"gPolicies/h/policies/theirs", b""),
        (b"uPolicies/ann/policies/own", b""),
        (b"uPolicies/ann/policies/both", b""),
    )
    effective = installation.effective_policies.of("ann")
    assert [item.id for item in effective] == ["both", "ours", "own"]
    assert installation.effective_policies.groups_of("ann") == ["g"]


def test_unknown_user_has_no_effective_policies(installation):
    installation.policies.create(policy("own"))
    write(installation, (b"uPolicies/ann/policies/own", b""))
    assert installation.effective_policies.of("ann") == ()
