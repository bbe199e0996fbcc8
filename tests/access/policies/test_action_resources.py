"""Which resources an action has, and statements that are never about any."""

from __future__ import annotations

import time

import pytest

from anabranch.access.policies.action_resources import can_apply, general_resources, resource_names
from anabranch.access.policies.explain import Ineffective, ineffective_resources
from anabranch.access.policies.permissions import Action
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.policy_documents import parse_statement
from anabranch.access.policies.statements import Effect, Statement
from anabranch.catalog.tables.iceberg.identifiers import encode_part
from anabranch.errors import Invalid
from anabranch.rest.table import EXTENSIONS, OPERATIONS

EFFECTIVE = [
    ("fs:ReadObject", "arn:lakefs:fs:::repository/sales/object/a/b.csv"),
    ("fs:ReadObject", "arn:lakefs:fs:::repository/sales*"),
    ("fs:ReadObject", "arn:lakefs:fs:::*/object/*"),
    ("fs:ReadObject", "arn:lakefs:fs:::repository/?ales/object/*"),
    ("fs:ReadObject", "arn:lakefs:fs:eu-west-1::repository/sales/object/*"),
    ("fs:*", "arn:lakefs:fs:::repository/sales"),
    ("fs:ReadRepository", "arn:lakefs:fs:::repository/${user}"),
    ("fs:CreateBranch", "arn:lakefs:fs:::repository/sales/branch/a/b"),
    ("fs:ListRepositories", "arn:lakefs:fs:::repository/sales"),
    ("auth:CreateCredentials", "arn:lakefs:auth:::user/${user}"),
    ("auth:*", "arn:lakefs:auth:::*"),
    ("catalog:ReadTable", "arn:lakefs:catalog:::table/lake/city/trips"),
    ("catalog:ReadView", "arn:lakefs:catalog:::view/*"),
    ("catalog:UpdateTable", "arn:lakefs:catalog:::table/lake/*@main"),
    ("catalog:ListTables", "arn:lakefs:catalog:::namespace/lake/city"),
    ("catalog:ListNamespaces", "arn:lakefs:catalog:::namespace/lake/"),
    ("catalog:*", "arn:lakefs:catalog:::table/lake/city/trips@dev"),
    ("catalog:ReadTable", "arn:lakefs:catalog:::table/lake/st%C3%A4dte/o'brien & co (1)%40x"),
    ("catalog:DeleteView", "arn:lakefs:catalog:::view/lake/st%C3%A4dte/*@dev"),
    ("*", "arn:lakefs:fs:::image/i"),
    ("fs:ReadConfig", "*"),
    ("auth:ListUsers", "arn:lakefs:fs:::repository/any"),
    ("auth:List*", "arn:lakefs:auth:::group/Admins"),
]
INEFFECTIVE = [
    ("fs:ReadObject", "arn:lakefs:fs:::repository/sales"),
    ("fs:ReadObject", "arn:lakefs:fs:::repository/sales/objects/*"),
    ("fs:ReadRepository", "arn:lakefs:fs:::repository/sales/branch/*"),
    ("fs:ReadRepository", "arn:lakefs:fs:::repository/"),
    ("fs:*", "arn:lakefs:fs:::repositories/sales"),
    ("fs:*", "arn:lakefs:auth:::user/jane"),
    ("fs:*", "arn:lakefs:ci:::repository/sales"),
    ("auth:List*", "arn:lakefs:fs:::repository/sales"),
    ("fs:*", "arn:lakefs:fs::1234:repository/sales"),
    ("auth:*", "arn:lakefs:fs:::repository/sales"),
    ("auth:ReadUser", "arn:lakefs:auth:::group/Admins"),
    ("pr:*", "arn:lakefs:fs:::repository/sales/branch/main"),
    ("catalog:ReadTable", "arn:lakefs:catalog:::table/lake/city/trips@main"),
    ("catalog:ReadTable", "arn:lakefs:catalog:::table/lake"),
    ("catalog:ReadTable", "arn:lakefs:catalog:::table/lake/städte/*"),
    ("catalog:*", "arn:lakefs:catalog:::table/lake/städte/trips"),
    ("catalog:DeleteTable", "arn:lakefs:catalog:::table/lake/city/a:b@main"),
    ("catalog:ListTables", "arn:lakefs:catalog:::namespace/lake/a#b"),
    ("catalog:ListTables", "arn:lakefs:catalog:::table/lake/city/trips"),
    ("catalog:UpdateView", "arn:lakefs:catalog:::table/lake/city/trips"),
    ("catalog:*", "arn:lakefs:fs:::repository/lake/*"),
]


@pytest.mark.parametrize(("action", "resource"), EFFECTIVE)
def test_statements_with_an_effect_are_accepted(action, resource):
    parse_statement(0, "allow", [action], resource, None)


@pytest.mark.parametrize(("action", "resource"), INEFFECTIVE)
def test_statements_without_an_effect_are_refused(action, resource):
    for effect in ("allow", "deny"):
        with pytest.raises(
            Invalid, match=r"statement 2: resource: .* is never the name"
        ) as refused:
            parse_statement(2, effect, [action], resource, None)
        assert "arn:lakefs:" in refused.value.hint
    with pytest.raises(Invalid):  # one of several
        parse_statement(2, "deny", [action], f'["*", "{resource}"]', None)


def test_a_resource_of_one_of_the_actions_is_enough():
    resource = "arn:lakefs:fs:::repository/sales"
    parse_statement(0, "allow", ["fs:ReadObject", "fs:ReadRepository"], resource, None)


def test_what_has_no_effect_is_found_in_stored_policies():
    names = ("arn:lakefs:fs:::repository/sales", "arn:lakefs:fs:::repository/sales/object/*")
    statements = (
        Statement(Effect.ALLOW, ("fs:ReadRepository",), names[:1]),
        Statement(Effect.ALLOW, ("fs:Read*",), names),
    )
    policy = Policy(id="old", created_at=1, statements=statements)
    found = ineffective_resources([policy], "fs:ReadObject", "jane")
    assert found == [Ineffective("old", 2, names[0])]


def test_every_action_of_an_operation_is_about_the_resources_that_are_listed():
    class Call:
        """A request whose every name is `x`."""

        def __getattr__(self, name):
            return Call() if name in {"params", "body"} else "x"

    checked = set()
    for operation in (*OPERATIONS, *EXTENSIONS):
        for need in operation.permission if isinstance(operation.permission, tuple) else ():
            resource = need.resource
            simple = {"on_repository", "on_branch", "on_tag", "on_image", "on_object", "on_user"}
            simple |= {"on_group", "on_policy", "on_external_principal", "on_new_user", "on_ref"}
            if resource.__name__ in simple:
                checked.add(need.action)
                assert can_apply(Effect.DENY, need.action, resource(Call())), operation.id
    assert len(checked) > 40


def test_names_of_tables_have_the_characters_that_their_encoded_parts_have():
    place = "arn:lakefs:catalog:::table/lake/c"
    for name in (f"a{chr(code)}b" for code in range(32, 256)):
        part = encode_part(name).replace("@", "%40")
        assert can_apply(Effect.DENY, "catalog:ReadTable", f"{place}/{part}"), name
        is_itself = part == name or name[1] in "/%*?"
        assert can_apply(Effect.DENY, "catalog:ReadTable", f"{place}/{name}") is is_itself, name


def test_every_action_has_resources():
    for action in Action:
        assert resource_names(action)
        assert len(general_resources(action)) == len(resource_names(action))


def test_a_pattern_of_wildcards_is_compared_quickly():
    began = time.thread_time()
    for length in (2_000, 60_000):
        can_apply(Effect.DENY, "fs:*", "arn:lakefs:fs:::repository/" + "*?" * (length // 2) + "!")
    assert time.thread_time() - began < 30
