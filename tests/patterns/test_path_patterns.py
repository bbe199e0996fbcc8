"""Patterns of paths, compared with a plain matcher, segment by segment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid
from anabranch.patterns.path_patterns import path_pattern


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("tables/*.csv", "tables/a.csv", True),
        ("tables/*.csv", "tables/x/a.csv", False),
        ("models/**", "models/a/b.bin", True),
        ("models/**", "models", False),
        ("**", "any/thing", True),
        ("**/a.csv", "a.csv", True),
        ("**/a.csv", "x/y/a.csv", True),
        ("**/a.csv", "x/ya.csv", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[a]", "a", False),
        ("[a]", "[a]", True),
        ("what*is*this", "what*is*this", True),
        ("line*", "line\nbreak", True),
        ("*", "", True),
        ("a", "a/", False),
    ],
)
def test_patterns_match_as_documented(pattern, path, expected):
    assert path_pattern(pattern).matches(path) is expected


def plain_match(pattern: str, path: str) -> bool:
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        rest = pattern[3:]
        starts = [0, *(i + 1 for i, letter in enumerate(path) if letter == "/")]
        return any(plain_match(rest, path[start:]) for start in starts)
    if pattern.startswith("**"):
        return any(plain_match(pattern[2:], path[i:]) for i in range(len(path) + 1))
    if pattern[0] == "*":
        ends = range((path + "/").index("/") + 1)
        return any(plain_match(pattern[1:], path[end:]) for end in ends)
    if pattern[0] == "?":
        return path[:1] not in ("", "/") and plain_match(pattern[1:], path[1:])
    return path[:1] == pattern[0] and plain_match(pattern[1:], path[1:])


@given(st.text("ab/*?", max_size=8), st.text("ab/", max_size=8))
def test_patterns_match_like_a_plain_matcher(pattern, path):
    assert path_pattern(pattern).matches(path) == (pattern == path or plain_match(pattern, path))


def test_many_wildcards_are_matched_quickly():
    assert not path_pattern("**" * 30 + "x").matches("a/" * 500)


def test_a_pattern_that_is_too_long_raises_invalid():
    path_pattern("a" * 2048)
    with pytest.raises(Invalid, match="at most 2,048 characters"):
        path_pattern("*" * 2049)
