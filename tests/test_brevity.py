"""Work that must be brief is given up where it would take long."""

from __future__ import annotations

import threading

import pytest

from anabranch.brevity import TakesLong, about_to_take_long, brief


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
