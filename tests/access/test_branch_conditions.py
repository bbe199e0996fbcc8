"""Conditions on the branch that an action changes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.limited_actor import LimitedActor
from anabranch.access.actors.object_rights import ObjectRights
from anabranch.access.identities.administrators import has_all_permissions
from anabranch.access.policies.decision import CompiledStatements
from anabranch.access.policies.explain import explain
from anabranch.access.policies.permissions import (
    BRANCH_ACTIONS,
    TABLE_ACTIONS,
    Action,
    AllBelow,
    Permission,
    branch_arn,
    object_arn,
    repository_arn,
)
from anabranch.access.policies.policies import Policy, decode_policy, encode_policy
from anabranch.access.policies.policy_documents import parse_statement
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement, allows
from anabranch.access.policies.table_permissions import permission_on
from anabranch.errors import Invalid

ON_MAIN = {"StringEquals": {"lakefs:branch": ("main", "release")}}
OBJECT = object_arn("lake", "a")


def may(effect, condition, permission):
    """Returns what all ways to decide say, which must agree."""
    statement = Statement(effect, ("fs:*",), ("*",), condition)
    statements = [ALLOW_ALL, statement] if effect is Effect.DENY else [statement]
    allowed = allows(statements, permission, "ada")
    assert CompiledStatements(statements, "ada").allow(permission) is allowed
    policy = Policy(id="p", created_at=0, statements=tuple(statements))
    assert explain([policy], permission, "ada").allowed is allowed
    assert Actor(username="ada", policies=(policy,)).may(permission) is allowed
    return allowed


def writing(branch, action=Action.WRITE_OBJECT, resource=OBJECT):
    return Permission(action, resource, branch=branch)


@pytest.mark.parametrize("resource", [OBJECT, AllBelow(object_arn("lake", "a/"))])
@pytest.mark.parametrize(
    ("operator", "values", "matching", "others"),
    [
        ("StringEquals", ("main", "release"), {"main", "release"}, {"MAIN", "dev", "main2", "ma"}),
        ("StringNotEquals", ("main", "release"), {"MAIN", "dev", "main2"}, {"main", "release"}),
        ("StringLike", ("rel/*", "m?in"), {"rel/1", "rel/", "main"}, {"rel", "main2", "x/rel/1"}),
        ("StringNotLike", ("rel/*", "m?in"), {"rel", "dev"}, {"rel/1", "main"}),
    ],
)
def test_a_condition_holds_on_its_branches_alone(operator, values, matching, others, resource):
    condition = {operator: {"lakefs:branch": values}}
    for branch in matching | others:
        permission = writing(branch, resource=resource)
        assert may(Effect.ALLOW, condition, permission) is (branch in matching)
        assert may(Effect.DENY, condition, permission) is (branch not in matching)


UNKNOWN = [
    Permission(Action.WRITE_OBJECT, OBJECT),
    *(writing(text) for text in ("", "main~0", "main^", "main@", "main$")),
    Permission(Action.CREATE_COMMIT, repository_arn("lake")),
    Permission(Action.CREATE_COMMIT, AllBelow(branch_arn("lake", "main"))),
    Permission(Action.CREATE_COMMIT, branch_arn("lake", "main"), branch=""),
    # reading is on no branch, whatever its resource names
    Permission(Action.READ_OBJECT, OBJECT, branch="main"),
    Permission(Action.READ_BRANCH, branch_arn("lake", "main")),
    # an object is not a branch
    Permission(Action.WRITE_OBJECT, object_arn("lake", "branch/main")),
]


@pytest.mark.parametrize(
    "operator", ["StringEquals", "StringNotEquals", "StringLike", "StringNotLike"]
)
@pytest.mark.parametrize("permission", UNKNOWN)
def test_where_no_branch_is_known_nothing_is_allowed_and_all_is_denied(operator, permission):
    for values in (("main",), ("dev",)):
        condition = {operator: {"lakefs:branch": values}}
        assert not may(Effect.ALLOW, condition, permission)
        assert not may(Effect.DENY, condition, permission)


ON_BRANCHES = sorted(BRANCH_ACTIONS - TABLE_ACTIONS - {Action.WRITE_OBJECT, Action.DELETE_OBJECT})


@pytest.mark.parametrize("action", ON_BRANCHES)
def test_the_resource_of_a_branch_names_it(action):
    for branch in ("main", "dev", "dev/branch/main"):
        permission = Permission(action, branch_arn("lake", branch))
        assert may(Effect.ALLOW, ON_MAIN, permission) is (branch == "main")
        assert may(Effect.DENY, ON_MAIN, permission) is (branch != "main")


def document(effect, actions, condition=None):
    condition = condition or {"StringEquals": {"lakefs:branch": ["main"]}}
    return parse_statement(3, effect, actions, "*", condition)


def test_a_condition_on_the_branch_survives_its_record():
    statement = document("deny", [str(action) for action in sorted(BRANCH_ACTIONS)])
    policy = Policy(id="p", created_at=7, statements=(statement,))
    assert decode_policy("p", encode_policy(policy)) == policy


@pytest.mark.parametrize(
    ("effect", "actions"),
    [
        ("deny", ["fs:*"]),
        ("deny", ["*"]),
        ("deny", ["fs:WriteObject", "fs:ReadObject"]),
        ("deny", ["fs:Delete*"]),
        ("deny", ["pr:WritePullRequest"]),
        ("allow", ["fs:ReadObject"]),
        ("allow", ["fs:WriteObject", "fs:List*"]),
        ("allow", ["fs:CreateTag"]),
    ],
)
def test_statements_about_actions_that_change_no_branch_are_refused(effect, actions):
    expected = r"statement 3: condition: lakefs:branch: .*changes no branch"
    with pytest.raises(Invalid, match=expected) as caught:
        document(effect, actions)
    assert "fs:WriteObject" in caught.value.hint


@pytest.mark.parametrize("operator", ["IpAddress", "DateLessThan"])
def test_a_branch_is_compared_as_text(operator):
    with pytest.raises(Invalid, match="the field is"):
        document("deny", ["fs:WriteObject"], {operator: {"lakefs:branch": ["main"]}})


def test_an_allowance_may_name_actions_by_patterns_that_some_match():
    assert document("allow", ["fs:*"]).actions == ("fs:*",)


def test_an_administrator_may_be_denied_single_branches():
    def policies(operator):
        condition = {operator: {"lakefs:branch": ("main",)}}
        denial = Statement(Effect.DENY, (Action.WRITE_OBJECT,), ("*",), condition)
        return [Policy(id="p", created_at=0, statements=(ALLOW_ALL, denial))]

    assert has_all_permissions("ada", policies("StringEquals"))
    assert not has_all_permissions("ada", policies("StringNotEquals"))


def test_an_actor_whom_another_limits_depends_on_the_branch():
    denial = Statement(Effect.DENY, (Action.WRITE_OBJECT,), ("*",), ON_MAIN)
    author = Actor(username="eve", statements=[ALLOW_ALL, denial])
    hook = LimitedActor(Actor.administrator("ada"), [author], "lake")
    assert hook.depends_on_branch
    assert hook.may(writing("dev"))
    assert not hook.may(writing("main"))
    assert not hook.may(Permission(Action.WRITE_OBJECT, OBJECT))


def test_rules_of_a_merge_write_to_its_destination():
    denial = Statement(Effect.DENY, (Action.WRITE_OBJECT,), ("*",), ON_MAIN)
    actor = Actor(username="ada", statements=[ALLOW_ALL, denial])
    found = {branch: ObjectRights(actor, "lake", branch) for branch in ("main", "dev", "")}
    assert {branch: rights.may_write("a") for branch, rights in found.items()} == {
        "main": False,
        "dev": True,
        "": False,
    }
    assert all(rights.may_delete("a") and rights.may_read("a") for rights in found.values())


def test_the_policy_of_the_documents_lets_users_write_everywhere_but_to_main():
    page = Path(__file__).parents[2] / "docs" / "access-control.md"
    blocks = re.findall(r"```json\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    (policy,) = [found for found in map(json.loads, blocks) if found["id"] == "NotToMain"]
    (item,) = policy["statement"]
    statement = parse_statement(
        1, item["effect"], item["action"], item["resource"], item["condition"]
    )
    for action in BRANCH_ACTIONS - TABLE_ACTIONS - {Action.IMPORT_CANCEL}:
        for branch, allowed in (("main", False), ("dev", True)):
            permission = writing(branch, action)
            assert allows([ALLOW_ALL, statement], permission, "ada") is allowed
    assert allows([ALLOW_ALL, statement], Permission(Action.READ_OBJECT, OBJECT), "ada")
    policies = [Policy(id="p", created_at=0, statements=(ALLOW_ALL, statement))]
    actor = Actor(username="ada", policies=tuple(policies))
    for action in BRANCH_ACTIONS & TABLE_ACTIONS:
        noun = re.sub(r"catalog:(Create|Update|Delete)", "", action).lower()
        for branch, allowed in (("main", False), ("dev", True)):
            permission = permission_on(action, f"arn:lakefs:catalog:::{noun}/lake/a/b", branch)
            assert permission.objects
            assert actor.may(permission) is allowed
