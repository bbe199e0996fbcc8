"""Pages of listings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.page import take_page


@given(st.integers(0, 20), st.integers(1, 7))
def test_pages_follow_one_another_and_read_one_item_ahead(total, amount):
    read = []

    def items(after):
        for number in range(after, total):
            read.append(number)
            yield number

    seen, after, more = [], 0, True
    while more:
        read.clear()
        page = take_page(items(after), amount, lambda number: str(number + 1))
        assert len(page.items) <= amount
        assert len(read) == len(page.items) + page.has_more
        seen += page.items
        more = page.has_more
        assert page.next_offset == (str(page.items[-1] + 1) if more else "")
        after = int(page.next_offset or 0)
    assert seen == list(range(total))


def test_a_page_without_room_has_more_if_there_is_an_item():
    assert take_page([], 0, str).has_more is False
    assert take_page(["a"], 0, str).has_more is True
