"""Hypothesis strategies for histories; `histories` does not depend on Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from anabranch.testing.histories import FIRST_DATE, History

__all__ = ["histories"]


@st.composite
def histories(draw: st.DrawFn, max_size: int = 12) -> History:
    """Draws a history of 1 to `max_size` commits, with one initial commit.

    Every other commit has one to three parents among the previous six commits. Dates repeat and run
    backwards. It shrinks towards a short chain.
    """
    history = History("drawn")
    history.add(creation_date=FIRST_DATE)
    for number in range(1, draw(st.integers(1, max_size))):
        distance = st.integers(1, min(number, 6))
        distances = draw(st.lists(distance, min_size=1, max_size=3, unique=True))
        date = FIRST_DATE + draw(st.integers(0, 3))
        nanos = draw(st.sampled_from((0, 1, 999_999_999)))
        parents = [history.ids[number - distance] for distance in distances]
        history.add(*parents, creation_date=date, nanos=nanos)
    return history
