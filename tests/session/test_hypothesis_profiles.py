"""What the profiles know of Hypothesis is what it finds by itself."""

from __future__ import annotations

import pytest
from support.session import hypothesis_profiles


@pytest.mark.slow
def test_utf_8_encodes_the_characters_that_hypothesis_finds():
    known = hypothesis_profiles._intervals("utf-8")
    found = hypothesis_profiles._compute("utf-8")
    assert [each.intervals for each in known] == [each.intervals for each in found]
