"""Patterns of branches, against the rules of Go's `path.Match`."""

from __future__ import annotations

import pytest

from anabranch.errors import Invalid
from anabranch.patterns.branch_pattern import branch_pattern


# from the documentation and the tests of Go's package `path`
@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("abc", "abc", True),
        ("*", "abc", True),
        ("*c", "abc", True),
        ("a*", "a", True),
        ("a*", "abc", True),
        ("a*", "ab/c", False),
        ("a*/b", "abc/b", True),
        ("a*/b", "a/c/b", False),
        ("a*b*c*d*e*/f", "axbxcxdxe/f", True),
        ("a*b*c*d*e*/f", "axbxcxdxexxx/f", True),
        ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", False),
        ("a*b?c*x", "abxbbxdbxebxczzx", True),
        ("a*b?c*x", "abxbbxdbxebxczzy", False),
        ("ab[c]", "abc", True),
        ("ab[b-d]", "abc", True),
        ("ab[e-g]", "abc", False),
        ("ab[^c]", "abc", False),
        ("ab[^b-d]", "abc", False),
        ("ab[^e-g]", "abc", True),
        ("a\\*b", "a*b", True),
        ("a\\*b", "ab", False),
        ("a?b", "a☺b", True),
        ("a[^a]b", "a☺b", True),
        ("a???b", "a☺b", False),
        ("[a-ζ]*", "δ", True),
        ("*[a-ζ]", "A", False),
        ("a?b", "a/b", False),
        ("a*b", "a/b", False),
        ("[\\]a]", "]", True),
        ("[\\-]", "-", True),
        ("[x\\-]", "x", True),
        ("[x\\-]", "z", False),
        ("[\\-x]", "a", False),
        ("*x", "xxx", True),
        ("feature-*", "feature-1", True),
        ("feature-*", "feature/1", False),
    ],
)
def test_pattern_matches_as_gos_does(pattern, name, expected):
    assert branch_pattern(pattern).matches(name) is expected


@pytest.mark.parametrize(
    "pattern",
    ["[]a]", "[-]", "[x-]", "[-x]", "[a-b-c]", "[", "[^", "[^bc", "a[", "\\", "[\\", "a" * 1025],
)
def test_malformed_pattern_is_refused(pattern):
    with pytest.raises(Invalid) as caught:
        branch_pattern(pattern)
    assert caught.value.kind == "invalid_pattern"


@pytest.mark.slow
def test_many_stars_take_no_long_time():
    assert not branch_pattern("a*" * 400 + "b").matches("a" * 400)
