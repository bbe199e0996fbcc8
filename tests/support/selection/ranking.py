"""How close each file of tests is to a change.

Files of tests mirror the packages, and a feature has one noun in every package, so names say more
than imports do: half of the tests reach most modules through a server. The order is that of
`Nearness`; within one, by folders and imports between, then the quickest first, so that many
aspects are tested before the budget is spent.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import takewhile
from pathlib import PurePosixPath
from typing import NamedTuple

from support.selection.import_graph import distances
from support.selection.source_files import Project

__all__ = ["Candidate", "Nearness", "rank"]

_WORD = re.compile(r"[a-z]+|[0-9]+")
_ENDINGS = re.compile(r"(?:ings?|ers?|ors?|ions?|ies|es|ed|s|e|y)$")
_LEAST_STEM = 3
_FAR = 99
_CODE = ("src/", "tests/", "kernel/", "web/")
# the tests of a small folder are all about what it mirrors
_SMALL_FOLDER = 6
# words say something that less than an eighth of the tests have
_TELLING = math.log10(8)
# a name that every package has says nothing without the package's
_GENERIC = frozenset(
    {"stor", "contract", "gateway", "record", "error", "setting", "run", "__init__"}
)


class Nearness(IntEnum):
    """Why a file of tests is a candidate, the closest first."""

    CHANGED = 0
    MIRRORS = 1
    NAMES = 2
    SMOKE = 3
    IMPORTS = 4
    FOLDER = 5
    SUBJECT = 6
    PACKAGE = 7
    REACHES = 8


class Candidate(NamedTuple):
    """A file of tests, by how it is ranked: `apart` counts the folders between it and those that
    mirror the change, `distance` the imports.
    """

    nearness: Nearness
    apart: int
    distance: int
    cost: float
    path: str


def rank(
    changed: Sequence[str],
    project: Project,
    graph: Mapping[str, set[str]],
    costs: Mapping[str, float],
) -> list[Candidate]:
    """Returns the files of tests that a change may concern, the closest first.

    `costs` has the seconds that each file of tests takes.
    """
    tests = project.test_files()
    rarity = _rarity(tests)
    sizes = Counter(_place(test)[0] for test in tests)
    best: dict[str, Candidate] = {}
    for change in changed:
        reached = distances(_nodes(change, graph), graph)
        for test in tests:
            nearness = _nearness(change, test, reached, project.texts[test], rarity)
            if nearness is None:
                continue
            steps = reached.get(test, _FAR)
            apart = _apart(change, test)
            if (
                nearness is Nearness.PACKAGE
                and not apart
                and sizes[_place(test)[0]] <= _SMALL_FOLDER
            ):
                nearness = Nearness.FOLDER
            candidate = Candidate(nearness, apart, steps, costs[test], test)
            best[test] = min(best.get(test, candidate), candidate)
    return sorted(best.values())


def _nodes(change: str, graph: Mapping[str, set[str]]) -> list[str]:
    """A changed file, with the fixtures that it declares."""
    return [change, *(node for node in graph if node.startswith(f"{change}::"))]


def _nearness(
    change: str, test: str, reached: Mapping[str, int], text: str, rarity: Mapping[str, float]
) -> Nearness | None:
    packages, folders = _place(change)[0], _place(test)[0]
    same_package = packages[:1] == folders[:1] and bool(folders)
    named = _subject(change, test)
    about = named <= _words(test, change)
    imports = reached.get(test)
    # no import leads to Rust, Lua or a page: names alone do
    reaches = imports or not change.endswith(".py")
    tells = about and sum(rarity.get(word, 0) for word in named) > _TELLING
    conditions = (
        (Nearness.CHANGED, test == change),
        (Nearness.MIRRORS, same_package and about),
        (Nearness.NAMES, _is_named(change, text)),
        (Nearness.IMPORTS, imports == 1),
        (Nearness.SUBJECT, reaches and tells and change.startswith(_CODE)),
        (Nearness.PACKAGE, reaches and same_package),
        (Nearness.REACHES, imports),
    )
    return next((nearness for nearness, holds in conditions if holds), None)


def _subject(change: str, test: str) -> frozenset[str]:
    """Returns the words of a file's name; if packages have many of this name, with the package's.
    Folders that the test is in, too, distinguish no tests.
    """
    packages, words = _place(change)
    own = words - _GENERIC or words | _stems(packages[-1:])
    return own - _shared(change, test) or words


def _words(test: str, change: str) -> frozenset[str]:
    """Returns the words of a test's name, and of the folders that the change is not in."""
    folders, words = _place(test)
    return words | (_stems(folders) - _shared(change, test))


@cache
def _shared(change: str, test: str) -> frozenset[str]:
    pairs = zip(_place(change)[0], _place(test)[0], strict=False)
    return _stems([left for left, right in takewhile(lambda pair: pair[0] == pair[1], pairs)])


def _apart(change: str, test: str) -> int:
    """Returns how many folders are between a test and those that mirror the change."""
    packages, folders = _place(change)[0], _place(test)[0]
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(packages, folders, strict=False))
    return len(packages) + len(folders) - 2 * len(list(shared))


@cache
def _place(path: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Returns the packages that a file is in, and the words of its name."""
    parts = PurePosixPath(path).with_suffix("").parts
    if parts[:2] == ("src", "anabranch"):
        parts = parts[2:]
    elif parts[0] == "tests":
        parts = parts[1:]
    folders, name = parts[:-1], parts[-1].removeprefix("test_")
    if name in ("mod", "__init__") and folders:
        name = folders[-1]
    return folders, _stems([name])


def _stems(names: Iterable[str]) -> frozenset[str]:
    return frozenset(_stem(word) for name in names for word in _WORD.findall(name.lower()))


def _stem(word: str) -> str:
    """`merge`, `merger` and `merging` have one stem; it is no word."""
    stem = word
    while (shorter := _ENDINGS.sub("", stem)) != stem and len(shorter) >= _LEAST_STEM:
        stem = shorter
    return stem[:-1] if len(stem) > _LEAST_STEM and stem[-1] == stem[-2] else stem


def _rarity(tests: Sequence[str]) -> dict[str, float]:
    """Returns how much each word says: the decimal logarithm of how few files of tests have it."""
    counts = Counter(word for test in tests for word in _place(test)[1] | _stems(_place(test)[0]))
    return {word: math.log10(len(tests) / count) for word, count in counts.items()}


def _is_named(change: str, text: str) -> bool:
    """Tests read other files, such as pages and deployments, by their names."""
    name = PurePosixPath(change).name
    return not change.endswith(".py") and name in text
