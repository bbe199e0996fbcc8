"""Patterns of paths, compared with DuckDB's own over a folder."""

from __future__ import annotations

import random
import time

import duckdb
import pytest

from anabranch.errors import Invalid
from anabranch.patterns.object_patterns import ObjectPattern

PATHS = ["a.csv", "b.csv", "a.txt", "x/a.csv", "x/y/a.csv", "x/y/z/b.csv", "xx/a.csv", "x/.a.csv"]


@pytest.mark.parametrize(
    "pattern",
    ["*.csv", "?.csv", "*/a.csv", "**/*.csv", "x/**/*.csv", "x/**/b.csv", "[ab].csv", "x*/?.csv"],
)
def test_patterns_match_what_duckdb_finds(tmp_path, pattern):
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    with duckdb.connect() as connection:
        found = connection.execute(f"FROM glob('{tmp_path}/{pattern}')").fetchall()
    expected = {row[0].removeprefix(f"{tmp_path}/") for row in found}
    parsed = ObjectPattern(pattern)
    assert {path for path in PATHS if parsed.matches(path)} == expected
    assert all(path.startswith(parsed.prefix) for path in expected)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(5))
def test_a_selection_has_the_paths_that_match(seed):
    chance = random.Random(seed)
    names = ["a", "b", "ab", "", "a.csv", "é"]
    paths = ["/".join(chance.choices(names, k=chance.randint(1, 4))) for _ in range(300)]
    for _ in range(40):
        parts = chance.choices([*names, "*", "**", "?", "a*", "[ab]", "*.csv"], k=3)
        parsed = ObjectPattern("/".join(parts[: chance.randint(1, 3)]))
        for order in (paths, sorted(paths)):
            assert [*parsed.select(order)] == [path for path in order if parsed.matches(path)]


def test_prefixes_end_before_the_first_wildcard():
    assert ObjectPattern("a/b=1/x*.csv").prefix == "a/b=1/x"
    assert ObjectPattern("a/b.csv").is_literal
    assert not ObjectPattern("a/[b].csv").is_literal


def test_a_malformed_pattern_is_refused():
    with pytest.raises(Invalid):
        ObjectPattern("a/[b.csv")


@pytest.mark.slow
def test_matching_takes_linear_time():
    began = time.perf_counter()
    assert not ObjectPattern("a*" * 200 + "b").matches("a" * 2000)
    assert not ObjectPattern("**/" * 200 + "b").matches("a/" * 500 + "a")
    assert time.perf_counter() - began < 60
