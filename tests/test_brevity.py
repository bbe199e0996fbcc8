"""Work that must be brief is given up where it would take long."""

from __future__ import annotations

import threading

import pytest

from anabranch.brevity import BRIEF_BYTES, TakesLong, about_to_take_long, brief, while_brief


def test_only_the_context_and_its_thread_are_brief():
    elsewhere = threading.Thread(target=about_to_take_long)
    with brief():
        with pytest.raises(TakesLong):
            about_to_take_long()
        elsewhere.start()
        elsewhere.join()
    about_to_take_long()


def test_what_handles_errors_does_not_take_it():
    def work():
        try:
            about_to_take_long()
        except Exception:  # noqa: BLE001  as handlers do
            return "failed"
        return "done"

    with brief(), pytest.raises(TakesLong):
        work()
    assert work() == "done"


def test_a_page_is_brief_as_long_as_its_items_are_small():
    read = []

    def items(*sizes):
        for size in sizes:
            read.append(size)
            yield size

    fit, too_many = (BRIEF_BYTES - 1, 1), (BRIEF_BYTES, 1, 2)
    with brief():
        assert list(while_brief(items(*fit), int)) == [*fit]
        read.clear()
        with pytest.raises(TakesLong):
            list(while_brief(items(*too_many), int))
        assert read == [*too_many[:2]]
    assert list(while_brief(items(*too_many), int)) == [*too_many]
