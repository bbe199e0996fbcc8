"""Statements: wildcards, denials and `${user}`, compared with a slow model."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.policies.permissions import (
    ANY,
    Action,
    Permission,
    object_arn,
    repository_arn,
    user_arn,
)
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement, allows

READ = Permission(Action.READ_OBJECT, object_arn("lake", "raw/2024/a.parquet"))


def allow(actions, resources):
    return Statement(Effect.ALLOW, tuple(actions.split()), tuple(resources.split()))


def deny(actions, resources):
    return Statement(Effect.DENY, tuple(actions.split()), tuple(resources.split()))


@pytest.mark.parametrize(
    ("actions", "resources", "expected"),
    [
        ("*", "*", True),
        ("fs:*", "*", True),
        ("fs:Read*", "arn:lakefs:fs:::repository/lake/object/*", True),
        ("fs:ReadObject", "arn:lakefs:fs:::repository/lake/object/raw/*.parquet", True),
        ("fs:ReadObject", "arn:lakefs:fs:::repository/lak?/object/raw/202?/*", True),
        ("fs:List* fs:Read*", "arn:lakefs:fs:::repository/x arn:lakefs:fs:::*", True),
        ("fs:ReadObject", "arn:lakefs:fs:us-east-1::*", True),
        ("fs:WriteObject", "*", False),
        ("fs:Read", "*", False),
        ("auth:*", "*", False),
        ("fs:readobject", "*", False),
        ("fs:Read?bject?", "*", False),
        ("fs:ReadObject", "arn:lakefs:fs:::repository/lake", False),
        ("fs:ReadObject", "arn:lakefs:fs:::repository/lake/object/raw/*.csv", False),
        ("fs:ReadObject", "arn:lakefs:auth:::*", False),
        ("fs:ReadObject", "arn:lakefs:*:::*", False),
        ("fs:ReadObject", "arn:aws:fs:::*", False),
        ("fs:ReadObject", "arn:lakefs:fs::1:*", False),
        ("fs:ReadObject", "arn:lakefs:fs", False),
        ("fs:ReadObject", "", False),
        ("", "*", False),
        ("fs:ReadObject", "arn:lakefs:fs:::repository/lake/object/raw/2024/a[.]parquet", False),
    ],
)
def test_what_a_statement_names(actions, resources, expected):
    assert allows([allow(actions, resources)], READ, "ada") is expected
    assert allows([ALLOW_ALL, deny(actions, resources)], READ, "ada") is not expected


def test_nothing_allows_nothing():
    assert not allows([], READ, "ada")


def test_denial_overrides_allowance_in_any_order():
    no = deny("fs:ReadObject", "arn:lakefs:fs:::repository/lake/*")
    for statements in ([no, ALLOW_ALL], [ALLOW_ALL, no], [ALLOW_ALL, no, ALLOW_ALL]):
        assert not allows(statements, READ, "ada")
        assert allows(statements, Permission(Action.READ_REPOSITORY, repository_arn("lake")), "ada")


def test_user_placeholder_matches_the_username():
    own = [allow("auth:*Credentials", "arn:lakefs:auth:::user/${user}")]
    wanted = Permission(Action.CREATE_CREDENTIALS, user_arn("ada"))
    assert allows(own, wanted, "ada")
    assert not allows(own, wanted, "bob")
    assert not allows(own, wanted, "*")
    assert not allows(own, wanted, "a?a")
    assert allows(own, Permission(Action.CREATE_CREDENTIALS, user_arn("a.*")), "a.*")


def test_any_resource():
    listing = Permission(Action.LIST_REPOSITORIES, ANY)
    some = allow("fs:List*", "arn:lakefs:fs:::repository/lake")
    assert allows([some], listing, "ada")
    assert allows([some, deny("fs:*", "arn:lakefs:fs:::repository/other")], listing, "ada")
    assert not allows([some, deny("fs:List*", "*")], listing, "ada")
    assert not allows([allow("fs:Read*", "*")], listing, "ada")


def slowly(pattern: str, text: str) -> bool:
    """Whether a pattern of `*` and `?` fits, straight from what they mean."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slowly(pattern[1:], text[place:]) for place in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and slowly(pattern[1:], text[1:])


@given(st.text("ab*?.\n[", max_size=8), st.text("ab.\n[", max_size=8))
def test_wildcards_mean_what_they_mean(pattern, text):
    permission = Permission("a", f"arn:lakefs:fs:::{text}")
    statement = allow("a", "")
    statement = Statement(Effect.ALLOW, ("a",), (f"arn:lakefs:fs:::{pattern}",))
    assert allows([statement], permission, "ada") is slowly(pattern, text)


def test_no_pattern_is_slow():
    statement = allow("*", "arn:lakefs:fs:::" + "*a" * 60 + "*b")
    permission = Permission("a", "arn:lakefs:fs:::" + "a" * 2000)
    begin = time.thread_time()
    assert not allows([statement], permission, "ada")
    assert time.thread_time() - begin < 30, "a pattern that is tried in every way takes years"
