"""Permissions on all resources with a prefix."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.policies.permissions import AllBelow, Permission, object_arn
from anabranch.access.policies.statements import Effect, Statement, allows

PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "?"]), max_size=5).map("".join)
ENDINGS = ["".join(each) for size in range(6) for each in itertools.product("abc", repeat=size)]


@given(PATTERNS, st.lists(st.sampled_from("ab"), max_size=3).map("".join), st.booleans())
def test_all_below_needs_every_resource_with_the_prefix(pattern, prefix, denied):
    named = object_arn("sea", pattern)
    statements = [Statement(Effect.ALLOW, ("*",), ("*",) if denied else (named,))]
    if denied:
        statements.append(Statement(Effect.DENY, ("*",), (named,)))
    every = allows(statements, Permission("x", AllBelow(object_arn("sea", prefix))), "ada")
    each = [
        allows(statements, Permission("x", object_arn("sea", prefix + ending)), "ada")
        for ending in ENDINGS
    ]
    # patterns are too short to tell the endings that were not tried from these
    assert every == all(each)


@pytest.mark.parametrize("resource", ["no arn", "arn:lakefs:auth:::*", "arn:aws:fs:::*", ""])
def test_statements_on_other_resources_have_no_effect(resource):
    everything = Statement(Effect.ALLOW, ("*",), ("*",))
    wanted = Permission("x", AllBelow(object_arn("sea", "a/")))
    assert allows([everything, Statement(Effect.DENY, ("*",), (resource,))], wanted, "ada")
    assert not allows([Statement(Effect.ALLOW, ("*",), (resource,))], wanted, "ada")
