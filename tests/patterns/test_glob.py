"""Patterns of names, compared with the library that lakeFS uses."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid
from anabranch.patterns.glob import Glob, glob

# the web interface matches them, too: web/tests/refs/branch-rules.test.ts
PATTERNS = json.loads((Path(__file__).parent / "glob_patterns.json").read_text(encoding="utf-8"))
SOURCE = Path(__file__).parents[1] / "differential" / "glob"

TEXTS = [
    "".join(letters) for count in range(1, 5) for letters in itertools.product("ab-", repeat=count)
] + ["abab*", "a*b", "a?", "]", "a[b", "x{", "dev:joe-bugfix-1234", "a\\b"]


OVERLAPPING = re.compile(r"([^*?\[{]|\[.\])+\*+([^*?\[{]|\[.\])+")


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [(case["pattern"], case["matching"], case["others"]) for case in PATTERNS["patterns"]],
)
def test_patterns_match_texts(pattern, matching, others):
    compiled = Glob(pattern)
    assert [text for text in matching if not compiled.matches(text)] == []
    assert [text for text in others if compiled.matches(text)] == []


@pytest.mark.parametrize("pattern", PATTERNS["malformed"])
def test_malformed_pattern_is_invalid(pattern):
    with pytest.raises(Invalid, match="invalid value"):
        Glob(pattern)


def test_matching_time_is_bounded():
    started = time.monotonic()
    assert not Glob("*a" * 60 + "b").matches("a" * 300)
    assert not Glob("{a,aa}" * 60 + "b").matches("a" * 300)
    assert not Glob("{*a*,*{a,?}*}" * 30 + "b").matches("a" * 300)
    assert time.monotonic() - started < 60


def patterns(seed: int, amount: int) -> list[str]:
    """Returns patterns of every kind in which gobwas/glob does not err: it does, or panics, where
    alternatives are empty or more than text, where `a*a` ought not to match `a`, and rarely
    elsewhere, so that not every seed will do.
    """
    chance = random.Random(seed)
    classes = ["a", "ab", "a-b", "b-a", "a-a", "-a", "\\]a", "abc-", "!a", "!a-b", "", "a-", "é-漢"]

    def single() -> str:
        kind = chance.random()
        if kind < 0.5:
            return chance.choice(["a", "b", "-", "é", "!", "]"])
        if kind < 0.6:
            return "?"
        if kind < 0.7:
            return chance.choice(["\\*", "\\?", "\\[", "\\{"])
        return f"[{chance.choice(classes)}]"

    def term() -> str:
        kind = chance.random()
        if kind < 0.2:
            choices = ["".join(chance.choices("ab-!]", k=chance.randint(1, 3))) for _ in "abc"]
            return f"{{{','.join(choices[: chance.randint(1, 3)])}}}"
        if kind < 0.45:
            return chance.choice(["*", "**"])
        return single()

    made = ("".join(term() for _ in range(chance.randint(1, 5))) for _ in range(amount))
    return sorted(pattern for pattern in set(made) if not OVERLAPPING.fullmatch(pattern))


@pytest.fixture(scope="module")
def gobwas(build_go) -> Path:
    """The Go program, built once."""
    return build_go(SOURCE, "gobwas/glob")


@pytest.mark.timeout(900)  # the first run on a machine fetches and builds
@pytest.mark.slow  # its patterns of a file are tested above
def test_patterns_match_as_in_lakefs(gobwas):
    given = patterns(seed=4, amount=4000)
    lines = "\n".join(json.dumps([pattern, *TEXTS]) for pattern in given)
    ran = subprocess.run([gobwas], input=lines, capture_output=True, check=True, text=True)
    theirs = dict(zip(given, ran.stdout.split("\n")[: len(given)], strict=True))
    assert sum(matched.count("1") for matched in theirs.values()) > len(given)
    assert {pattern: _ours(pattern) for pattern in given} == theirs


def _ours(pattern: str) -> str:
    try:
        compiled = Glob(pattern)
    except Invalid:
        return "error"
    return "".join("01"[compiled.matches(text)] for text in TEXTS)


@given(
    st.lists(st.sampled_from("ab*"), max_size=6).map("".join),
    st.lists(st.sampled_from("ab"), max_size=8).map("".join),
)
def test_star_patterns_match_as_general_algorithm(pattern, text):
    # {} stands for no text, and makes of the pattern one that is followed place by place
    assert Glob(pattern).matches(text) == Glob(pattern + "{}").matches(text)


@pytest.mark.parametrize("pattern", ["{a,b}" * 1000, "?" * 3000, "a" * 3000])
def test_a_pattern_that_is_too_long_raises_invalid(pattern):
    with pytest.raises(Invalid, match="at most 2,048 characters"):
        glob(pattern)
