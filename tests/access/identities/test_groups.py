"""Groups, their members and policies, and what deleting one of them removes."""

from __future__ import annotations

import pytest

from anabranch.access.identities.groups import Group
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.policy_documents import parse_statement
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.records import lakefs_pb2 as records


@pytest.fixture
def lake(installation):
    installation.setup.run("ada")
    for name in ("g", "h-x"):
        installation.groups.create(Group(id=name, created_at=5, description="a group"))
    for name in ("p", "policies-p"):
        installation.policies.create(Policy(id=name, created_at=5, statements=(ALLOW_ALL,)))
    return installation


def relations(lake):
    """Returns the keys of all relations but those that setup stores."""
    return [
        key.decode()
        for prefix in (b"gUsers/", b"gPolicies/", b"uPolicies/")
        for key, _ in lake.store.scan("auth", prefix, prefix + b"\xff")
        if key.split(b"/")[1] not in {b"Admins", b"SuperUsers", b"Developers", b"Viewers"}
    ]


def test_created_group_is_read_back_and_listed(lake):
    assert lake.groups.get("g") == Group(id="g", created_at=5, description="a group")
    assert [group.id for group in lake.groups.page("", "V", 10).items] == ["Viewers", "g", "h-x"]
    assert lake.groups.page("", "Viewers", 1).next_offset == "g"
    assert lake.groups.find_many(["g", "none"])[1] is None
    with pytest.raises(AlreadyExists):
        lake.groups.create(Group(id="g", created_at=6))
    for call in (lake.groups.get, lake.groups.delete):
        with pytest.raises(NotFound):
            call("none")


def test_relation_is_lakefs_record_and_can_be_removed_once(lake):
    lake.memberships.add("g", "ada")
    value = lake.store.get("auth", b"gUsers/g/users/ada")
    assert records.SecondaryIndex.FromString(value).primary_key == b"users/ada"
    assert lake.memberships.page("g", "", "", 10).items == ["ada"]
    with pytest.raises(AlreadyExists):
        lake.memberships.add("g", "ada")
    lake.memberships.remove("g", "ada")
    with pytest.raises(NotFound):
        lake.memberships.remove("g", "ada")
    assert relations(lake) == []


@pytest.mark.parametrize(
    ("kind", "owner", "target"),
    [
        ("memberships", "none", "ada"),
        ("memberships", "g", "none"),
        ("group_attachments", "none", "p"),
        ("group_attachments", "g", "none"),
        ("user_attachments", "none", "p"),
        ("user_attachments", "ada", "none"),
    ],
)
def test_relation_of_a_missing_record_raises_not_found(lake, kind, owner, target):
    for call in (getattr(lake, kind).add, getattr(lake, kind).remove):
        with pytest.raises(NotFound):
            call(owner, target)
    assert relations(lake) == []


def test_deleted_group_leaves_no_relations_and_other_groups_keep_theirs(lake):
    for group in ("g", "h-x"):
        lake.memberships.add(group, "ada")
        lake.group_attachments.add(group, "p")
    lake.groups.delete("g")
    assert relations(lake) == ["gUsers/h-x/users/ada", "gPolicies/h-x/policies/p"]
    lake.groups.create(Group(id="g", created_at=9))
    assert lake.memberships.page("g", "", "", 10).items == []


def test_deleted_policy_is_detached_everywhere_and_others_stay(lake):
    for policy in ("p", "policies-p"):
        lake.group_attachments.add("g", policy)
        lake.user_attachments.add("ada", policy)
    lake.policies.delete("p")
    assert relations(lake) == [
        "gPolicies/g/policies/policies-p",
        "uPolicies/ada/policies/policies-p",
    ]
    with pytest.raises(NotFound):
        lake.policies.delete("p")


def test_member_added_by_another_server_while_the_group_is_deleted_leaves_no_relation(
    lake, installation_over, monkeypatch
):
    other = installation_over(lake.store)
    apply = lake.store.apply
    writes = []

    def delete_first(*arguments):
        writes.append(arguments)
        if len(writes) == 1:
            other.groups.delete("g")
        return apply(*arguments)

    monkeypatch.setattr(lake.store, "apply", delete_first, raising=False)
    with pytest.raises(NotFound):
        lake.memberships.add("g", "ada")
    assert relations(lake) == []


@pytest.mark.parametrize(
    ("effect", "actions", "resource", "condition", "message"),
    [
        ("maybe", ["fs:*"], "*", None, "statement 3: effect"),
        ("allow", [], "*", None, "statement 3: action"),
        ("allow", ["fs:Reed*"], "*", None, "statement 3: action"),
        ("allow", ["fs:[R]eadObject"], "*", None, "statement 3: action"),
        ("allow", ["catalog:GetTable"], "*", None, "statement 3: action"),
        ("allow", ["fs:*"], "arn:aws:s3:::x", None, "statement 3: resource"),
        ("allow", ["fs:*"], "", None, "statement 3: resource"),
        ("allow", ["fs:*"], "[1]", None, "statement 3: resource"),
        ("allow", ["fs:*"], "[]", None, "statement 3: resource"),
        ("allow", ["fs:*"], "*", {"Sometimes": {}}, "statement 3: condition"),
    ],
)
def test_invalid_statement_is_refused_with_its_number_and_field(
    effect, actions, resource, condition, message
):
    with pytest.raises(Invalid, match=message):
        parse_statement(3, effect, actions, resource, condition)


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("*", "arn:lakefs:fs:::repository/*"),
        ("fs:*", "arn:lakefs:fs:::repository/*"),
        ("fs:Read?bject", "arn:lakefs:fs:::repository/*"),
        ("auth:List*", "arn:lakefs:auth:::user/*"),
        ("catalog:ReadTable", "arn:lakefs:catalog:::table/*"),
    ],
)
def test_actions_and_patterns_of_actions_are_accepted(action, resource):
    parsed = parse_statement(0, "deny", [action], f'["*", "{resource}"]', None)
    assert parsed.resources == ("*", resource)
