"""Hypothesis' profiles: fewer examples while one works, more in CI, most in `make test-all`.

What CI reports of a commit must not depend on the day, so it draws the same examples each time;
new ones are found by everybody else, and kept in `.hypothesis/`. Hypothesis also draws constants of
the modules that are loaded. Only `make test-all` has it do so: to read all modules takes each
worker one to two seconds, and which ones are loaded depends on the tests that ran before. Which
characters UTF-8 encodes is said here: in a new checkout each worker would try all for two seconds.
"""

from __future__ import annotations

import os
from functools import cache

import hypothesis
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.internal.intervalsets import IntervalSet

_IN_CI = bool(os.environ.get("CI"))
_WEEKLY = bool(os.environ.get("ANABRANCH_ALL_EXAMPLES"))  # set by `make test-all`
_CI_SHARE, _QUICK_SHARE, _WEEKLY_TIMES = 4, 8, 3
_LEAST = 5  # fewer find nothing
_UTF_8 = IntervalSet([(0, 0xD7FF), (0xE000, 0x10FFFF)])  # all but surrogates
_NONE = IntervalSet([])


def load_profile() -> None:
    """Loads the profile of this run."""
    hypothesis.settings.register_profile(
        "anabranch",
        # on a busy machine a step may take any time, which says nothing about what is tested
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
        derandomize=_IN_CI,
        max_examples=examples(100),
    )
    hypothesis.settings.load_profile("anabranch")
    if not _WEEKLY:
        # no setting does this; the version is pinned, and another one may fail here
        assert callable(providers._get_local_constants)
        providers._get_local_constants = Constants
        assert callable(charmap.intervals_from_codec)
        charmap.intervals_from_codec = _intervals


_compute = charmap.intervals_from_codec


@cache
def _intervals(codec: str) -> tuple[IntervalSet, IntervalSet]:
    """Returns the characters that a codec encodes, and those that change when they are decoded."""
    return (_UTF_8, _NONE) if codec == "utf-8" else _compute(codec)


def examples(number: int) -> int:
    """Returns how many examples a property draws that is written for `number`: in CI a quarter,
    three times as many in `make test-all`, an eighth otherwise.
    """
    if _WEEKLY:
        return number * _WEEKLY_TIMES
    return max(number // (_CI_SHARE if _IN_CI else _QUICK_SHARE), min(number, _LEAST))
