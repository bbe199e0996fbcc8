"""Hypothesis' profiles: fewer examples while one works, all of them in CI and `make test-all`.

What CI reports of a commit must not depend on the day, so it draws the same examples each time;
new ones are found by everybody else, and kept in `.hypothesis/`. Hypothesis also draws constants of
the modules that are loaded; which ones are, depends on the tests that ran before in the process, so
CI draws none.
"""

from __future__ import annotations

import os

import hypothesis
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

_IN_CI = bool(os.environ.get("CI"))
_ALL = _IN_CI or bool(os.environ.get("ANABRANCH_ALL_EXAMPLES"))  # set by `make test-all`
_QUICK_SHARE = 4


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
    if _IN_CI:
        # no setting does this; the version is pinned, and another one may fail here
        assert callable(providers._get_local_constants)
        providers._get_local_constants = Constants


def examples(number: int) -> int:
    """Returns how many examples a test draws that draws `number` in CI."""
    return number if _ALL else max(number // _QUICK_SHARE, min(number, 5))
