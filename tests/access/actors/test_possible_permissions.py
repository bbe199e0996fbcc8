"""Whether an action may be performed on any resource with a prefix."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.possible_permissions import may_on_some
from anabranch.access.policies.permissions import Permission, branch_arn, object_arn
from anabranch.access.policies.statements import Effect, Statement

WRITE, BRANCH = "fs:WriteObject", "fs:CreateBranch"
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "?"]), max_size=4).map("".join)
ENDINGS = ["".join(each) for size in range(5) for each in itertools.product("abc", repeat=size)]
STATEMENTS = st.lists(st.tuples(st.sampled_from(Effect), PATTERNS), max_size=4)


def user(*statements):
    return Actor(username="ada", statements=statements)


def allow(resource, action=WRITE, **condition):
    return Statement(Effect.ALLOW, (action,), (resource,), condition)


def deny(resource, action=WRITE, **condition):
    return Statement(Effect.DENY, (action,), (resource,), condition)


@given(STATEMENTS, st.lists(st.sampled_from("ab"), max_size=3).map("".join))
def test_what_is_allowed_is_never_called_impossible(rules, prefix):
    actor = user(*(Statement(effect, (WRITE,), (object_arn("sea", p),)) for effect, p in rules))
    allowed = any(
        actor.may(Permission(WRITE, object_arn("sea", prefix + ending))) for ending in ENDINGS
    )
    assert may_on_some(actor, WRITE, object_arn("sea", prefix)) or not allowed


@pytest.mark.parametrize(
    ("statements", "prefix", "possible"),
    [
        ([], "", False),
        ([allow("*")], "x/", True),
        ([allow("*"), deny("*")], "x/", False),
        ([allow(object_arn("sea", "data/*"))], "", True),
        ([allow(object_arn("sea", "data/*"))], "data/in/", True),
        ([allow(object_arn("sea", "data/*"))], "other/", False),
        ([allow(object_arn("lake", "*"))], "", False),
        ([allow(object_arn("sea", "data/a"))], "data/", True),
        ([allow(object_arn("sea", "data/a"))], "data/a/", False),
        ([allow(object_arn("sea", "*")), deny(object_arn("sea", "data/*"))], "", True),
        ([allow(object_arn("sea", "*")), deny(object_arn("sea", "data/*"))], "data/x/", False),
        ([allow(object_arn("sea", "data/*")), deny(object_arn("sea", "data/*"))], "", False),
        ([allow(object_arn("sea", "home/${user}/*"))], "home/ada/", True),
        ([allow(object_arn("sea", "home/${user}/*"))], "home/bob/", False),
        ([allow(object_arn("sea", "*"), "fs:ReadObject")], "", False),
    ],
)
def test_prefixes_below_which_an_action_is_possible(statements, prefix, possible):
    assert may_on_some(user(*statements), WRITE, object_arn("sea", prefix)) is possible


def test_conditions_are_those_of_the_branch():
    on_dev = {"StringEquals": {"lakefs:branch": ["dev"]}}
    actor = user(allow("*", **on_dev))
    everything = object_arn("sea", "")
    assert may_on_some(actor, WRITE, everything, "dev")
    assert not may_on_some(actor, WRITE, everything, "main")
    # it may be the one on which it is allowed
    assert may_on_some(actor, WRITE, everything)
    denied = user(allow("*"), deny("*", **on_dev))
    assert not may_on_some(denied, WRITE, everything, "dev")
    assert may_on_some(denied, WRITE, everything, "main")
    assert may_on_some(denied, WRITE, everything)


def test_a_branch_that_is_to_be_named():
    actor = user(allow(branch_arn("sea", "dev-*"), BRANCH))
    assert may_on_some(actor, BRANCH, branch_arn("sea", ""))
    assert not may_on_some(actor, BRANCH, branch_arn("sea", "main"))
    assert not may_on_some(actor, BRANCH, branch_arn("lake", ""))
