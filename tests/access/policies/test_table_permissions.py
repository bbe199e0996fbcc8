"""Permissions on tables and on the objects that stand for them, compared with what is written of
how both combine.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.limited_actor import LimitedActor
from anabranch.access.actors.possible_permissions import may_on_some
from anabranch.access.policies.explain import explain
from anabranch.access.policies.permissions import (
    Action,
    AllBelow,
    Permission,
    object_arn,
    repository_arn,
)
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import Effect, Statement
from anabranch.access.policies.table_permissions import (
    creation_permission,
    listing_permission,
    objects_below,
    permission_on,
    record_permission,
)
from tests.support.literal_policies import literally_allows

RECORD = "_tables/city/trips/table.json"
TABLE = "arn:lakefs:catalog:::table/lake/city/trips"
OBJECT = object_arn("lake", RECORD)
SAYS = (None, Effect.ALLOW, Effect.DENY)


def actor(*statements, others=()):
    policies = (Policy(id="p", created_at=0, statements=tuple(statements)), *others)
    return Actor(username="ada", policies=policies)


def says(effect, action, resource):
    return [] if effect is None else [Statement(effect, (action,), (resource,))]


def both_say(user, permission):
    """Returns whether a user has a permission, as decisions and explanations agree."""
    allowed = user.may(permission)
    assert explain(user.policies, permission, "ada").allowed is allowed
    return allowed


@pytest.mark.parametrize(("on_table", "on_object"), list(product(SAYS, SAYS)))
def test_either_allows_and_either_denies(on_table, on_object):
    user = actor(
        *says(on_table, "catalog:ReadTable", TABLE), *says(on_object, "fs:ReadObject", OBJECT)
    )
    expected = Effect.ALLOW in {on_table, on_object} and Effect.DENY not in {on_table, on_object}
    reading = record_permission(Action.READ_OBJECT, "lake", RECORD, "main")
    assert (reading.action, reading.resource) == ("catalog:ReadTable", TABLE)
    assert both_say(user, reading) is expected
    assert both_say(user, permission_on("catalog:ReadTable", TABLE, None)) is expected
    # by other ways than the catalog, the object needs a permission of its own
    directly = Permission(Action.READ_OBJECT, OBJECT)
    assert both_say(user, directly) is (on_object is Effect.ALLOW and on_table is not Effect.DENY)


PATHS = [RECORD, "_tables/city/trips/view.json", "_tables/city/namespace.json"]
STATEMENTS = st.builds(
    Statement,
    st.sampled_from(Effect),
    st.lists(
        st.sampled_from(
            (
                *("*", "fs:*", "fs:ReadObject", "fs:WriteObject", "fs:Delete*", "fs:List*"),
                *("catalog:*", "catalog:Read*", "catalog:Create*", "catalog:UpdateTable"),
                *("catalog:*View", "catalog:*Namespace*", "catalog:ListTables"),
            )
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    st.sampled_from(
        ["*", OBJECT, object_arn("lake", "*"), object_arn("lake", "_tables/city/*.json")]
        + [repository_arn("lake"), TABLE, f"{TABLE}@dev", f"{TABLE}@main", f"{TABLE}2"]
        + [TABLE.replace("trips", name) for name in ("*dev", "t?ips?dev", "*i*@d*", "*@${user}")]
        + [f"arn:lakefs:catalog:::{noun}" for noun in ("*", "table/lake/*@dev", "*/lake/city*")]
    ).map(lambda resource: (resource,)),
)


@settings(max_examples=examples(500), deadline=None)
@given(
    st.lists(STATEMENTS, max_size=5),
    st.sampled_from(PATHS),
    st.sampled_from([Action.READ_OBJECT, Action.WRITE_OBJECT, Action.DELETE_OBJECT, None]),
)
def test_decisions_are_those_of_a_literal_evaluator(statements, path, action):
    """Of all names that the resource has, asked one by one; None is the creation."""
    if action is None:
        permission = creation_permission("lake", path, "dev")
        needed = ["fs:ReadObject", "fs:WriteObject"]
    else:
        permission = record_permission(action, "lake", path, "dev")
        needed = [str(action)]
    is_read = action is Action.READ_OBJECT
    names = [permission.resource, *([] if is_read else [f"{permission.resource}@dev"])]
    everything = Statement(Effect.ALLOW, ("*",), ("*",))

    def allowed(name, resource):
        return literally_allows(statements, name, resource, "ada")

    def denied(name, resource):
        return not literally_allows([everything, *statements], name, resource, "ada")

    record = object_arn("lake", path)
    stated = [(str(permission.action), name) for name in names]
    refused = any(denied(*each) for each in stated) or any(denied(x, record) for x in needed)
    # a statement for the name alone or for the one with the branch suffices
    by_table = any(allowed(*each) for each in stated)
    expected = not refused and (by_table or all(allowed(name, record) for name in needed))
    assert both_say(actor(*statements), permission) is expected


@pytest.mark.parametrize("pattern", ["city/*_old", "city/*s?live_old", "*ity/*_old"])
def test_a_branch_is_no_end_of_a_table_s_name(pattern):
    """Who may create a branch would change each table there."""
    resource = f"arn:lakefs:catalog:::table/lake/{pattern}"
    user = actor(*says(Effect.ALLOW, "catalog:UpdateTable", resource))
    elsewhere = record_permission(Action.WRITE_OBJECT, "lake", RECORD, "live_old")
    assert not both_say(user, elsewhere)
    old = "_tables/city/trips_live_old/table.json"
    named = record_permission(Action.WRITE_OBJECT, "lake", old, "main")
    assert both_say(user, named)


def test_the_name_of_a_user_is_encoded_in_names_of_tables():
    def may(username, table, branch):
        statement = Statement(
            Effect.ALLOW, ("catalog:UpdateTable",), ("arn:lakefs:catalog:::table/lake/of/${user}",)
        )
        user = Actor(username=username, statements=[statement])
        path = f"_tables/of/{table}/table.json"
        return user.may(record_permission(Action.WRITE_OBJECT, "lake", path, branch))

    assert may("ada@example.com", "ada@example.com", "main")
    assert not may("ada@main", "ada", "main"), "a name is no table and its branch"
    assert may("ada", "ada", "main")


STATED = ("*", "*@main", "*@dev", TABLE, f"{TABLE}@main", f"{TABLE}@d?v", f"{TABLE}2")


@pytest.mark.parametrize("branch", ["main", "dev", ""])
def test_the_branch_is_part_of_the_name_of_what_changes(branch):
    """The oracle compares each of the two names, of an unknown branch any, as the page says."""
    changing = record_permission(Action.WRITE_OBJECT, "lake", RECORD, branch)
    branches = [branch] if branch else ["main", "dev", "other"]
    for effect, resource in product(Effect, STATED):
        name = resource
        if resource.startswith("*@"):
            name = f"arn:lakefs:catalog:::table/lake/{resource}"
        stated = Statement(effect, ("catalog:UpdateTable",), (name,))
        permit = Statement(Effect.ALLOW, ("catalog:UpdateTable",), (name,))
        matched = {
            each: any(
                literally_allows([permit], "catalog:UpdateTable", named, "ada")
                for named in (TABLE, f"{TABLE}@{each}")
            )
            for each in branches
        }
        if effect is Effect.ALLOW:
            assert both_say(actor(stated), changing) is all(matched.values()), name
        else:
            user = actor(Statement(Effect.ALLOW, ("*",), ("*",)), stated)
            assert both_say(user, changing) is not any(matched.values()), name


def test_names_are_no_patterns_and_name_no_branch():
    """The right to create a table named `a@main` is none to `a` on main, and neither is `*`."""
    odd = record_permission(Action.WRITE_OBJECT, "lake", "_tables/city/a@main/table.json", "dev")
    assert odd.resource == "arn:lakefs:catalog:::table/lake/city/a%40main"
    stated = Statement(
        Effect.ALLOW, ("catalog:*",), ("arn:lakefs:catalog:::table/lake/city/a@main",)
    )
    assert not actor(stated).may(odd)
    back = permission_on(odd.action, odd.resource, "dev")
    assert back == odd


@pytest.mark.parametrize(
    ("action", "needed"),
    [
        ("fs:ReadObject", {"catalog:ReadTable"}),
        ("fs:WriteObject", {"catalog:CreateTable", "catalog:UpdateTable"}),
        ("fs:DeleteObject", {"catalog:DeleteTable"}),
    ],
)
@pytest.mark.parametrize(
    "below", ["", "_tab", "_tables/", "_tables/city/", "_tables/city/tr", RECORD]
)
def test_a_denial_of_a_table_holds_for_its_object(action, needed, below):
    everything = Statement(Effect.ALLOW, ("fs:*",), ("*",))
    resource = OBJECT if below == RECORD else AllBelow(object_arn("lake", below))
    for each in Action:
        denied = actor(everything, Statement(Effect.DENY, (each,), (f"{TABLE}*",)))
        permission = Permission(action, resource, branch="main")
        assert both_say(denied, permission) is (each not in needed), each
        elsewhere = AllBelow(object_arn("lake", "data/"))
        assert both_say(denied, Permission(action, elsewhere, branch="main"))
        other = object_arn("lake", "_tables/city/other/table.json")
        assert both_say(denied, Permission(action, other, branch="main"))


def test_denials_on_a_branch_hold_where_the_branch_is_not_known():
    user = actor(
        Statement(Effect.ALLOW, ("fs:*",), ("*",)),
        Statement(Effect.DENY, ("catalog:UpdateTable",), (f"{TABLE}@main",)),
    )
    for branch, expected in (("main", False), ("dev", True), ("", False), ("main~0", False)):
        writing = Permission(Action.WRITE_OBJECT, OBJECT, branch=branch)
        assert both_say(user, writing) is expected
        changing = record_permission(Action.WRITE_OBJECT, "lake", RECORD, branch)
        assert both_say(user, changing) is expected


def test_creation_needs_reading_and_writing_or_its_own_right():
    creating = creation_permission("lake", RECORD, "dev")
    assert both_say(actor(Statement(Effect.ALLOW, ("catalog:CreateTable",), (TABLE,))), creating)
    assert both_say(
        actor(Statement(Effect.ALLOW, ("fs:ReadObject", "fs:WriteObject"), (OBJECT,))), creating
    )
    for action in ("fs:ReadObject", "fs:WriteObject", "catalog:UpdateTable", "catalog:ReadTable"):
        assert not both_say(actor(Statement(Effect.ALLOW, (action,), ("*",))), creating)


def test_listings_are_of_namespaces():
    listing = listing_permission(Action.LIST_TABLES, "lake", "_tables/city/raw")
    assert listing.resource == "arn:lakefs:catalog:::namespace/lake/city/raw"
    top = listing_permission(Action.LIST_NAMESPACES, "lake", "")
    assert top.resource == "arn:lakefs:catalog:::namespace/lake/"
    listed = Permission(Action.LIST_OBJECTS, repository_arn("lake"))
    for permission in (listing, top):
        assert permission.objects == (listed,)
        assert permission_on(permission.action, permission.resource, None) == permission


@pytest.mark.parametrize("action", [each for each in Action if each.startswith("catalog:")])
def test_every_action_on_tables_has_objects_that_stand_for_it(action):
    noun = "namespace" if "Name" in action or "List" in action else action[-5:].lower()
    noun = {"table": "table", "dview": "view", "eview": "view", "namespace": "namespace"}[noun]
    resource = f"arn:lakefs:catalog:::{noun}/lake/city/x"
    permission = permission_on(action, resource, "dev")
    assert permission.objects
    everything = actor(Statement(Effect.ALLOW, ("fs:*",), ("*",)))
    assert both_say(everything, permission)
    prefix = f"arn:lakefs:catalog:::{noun}/lake/ci"
    assert all(
        may_on_some(everything, each, objects, "dev")
        for each, objects in objects_below(action, prefix)
    )
    denied = actor(
        Statement(Effect.ALLOW, ("*",), ("*",)), Statement(Effect.DENY, (action,), (resource,))
    )
    assert not both_say(denied, permission)
    explained = explain(denied.policies, permission, "ada")
    assert (explained.policy, explained.statement) == ("p", 2)


def test_rights_of_hooks_end_at_their_repository():
    user = actor(Statement(Effect.ALLOW, ("catalog:*",), ("*",)))
    limited = LimitedActor(user, [user], "lake")
    assert limited.may(record_permission(Action.READ_OBJECT, "lake", RECORD, "main"))
    assert not limited.may(record_permission(Action.READ_OBJECT, "lake2", RECORD, "main"))
