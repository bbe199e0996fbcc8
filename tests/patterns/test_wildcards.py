"""Patterns of policies, compared with a plain definition."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.patterns.wildcards import matches_name, name_pattern

PARTS = st.lists(st.sampled_from(["a", "b", "*", "?", "${user}"]), max_size=6).map("".join)


def plain(pattern, text, username):
    """Returns whether a pattern matches a text, by its definition."""
    if not pattern:
        return not text
    if pattern.startswith("${user}"):
        rest = pattern.removeprefix("${user}")
        return text.startswith(username) and plain(rest, text[len(username) :], username)
    if pattern[0] == "*":
        return any(plain(pattern[1:], text[at:], username) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in {"?", text[0]} and plain(pattern[1:], text[1:], username)


@given(PARTS, st.text("ab*?", max_size=8), st.sampled_from(["a", "*", "a?", "ba"]))
def test_patterns_match_by_their_definition(pattern, text, username):
    assert matches_name(pattern, text, username) == plain(pattern, text, username)


@pytest.mark.parametrize(("text", "expected"), [("x${user}y", True), ("xanny", False)])
def test_without_a_user_the_variable_is_literal(text, expected):
    assert bool(name_pattern("x${user}y").fullmatch(text)) is expected


def test_no_pattern_is_slow():
    start = time.thread_time()
    assert not matches_name("*a" * 500 + "b", "a" * 5000, "user")
    assert time.thread_time() - start < 20  # trying every way would take years
