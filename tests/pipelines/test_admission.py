"""Admission of long requests."""

from __future__ import annotations

import threading

import pytest
from support.eventually import eventually

from anabranch.errors import Busy
from anabranch.pipelines.admission import Admission


def occupy(admission, count):
    """Starts threads that stay in the context until the event is set."""
    done, inside = threading.Event(), []

    def stay():
        with admission.enter():
            inside.append(1)
            done.wait(60)

    threads = [threading.Thread(target=stay) for _ in range(count)]
    for thread in threads:
        thread.start()
    return done, inside, threads


def test_callers_beyond_those_that_wait_are_refused_at_once():
    admission = Admission("queries", running=2, waiting=3, seconds=60)
    done, inside, threads = occupy(admission, 5)
    eventually(lambda: len(inside) == 2)
    eventually(lambda: is_full(admission))
    assert len(inside) == 2
    done.set()
    for thread in threads:
        thread.join(60)
    assert len(inside) == 5
    with admission.enter():
        pass


def is_full(admission):
    try:
        with admission.enter():
            return False
    except Busy as error:
        return "too many queries" in error.message


def test_a_caller_that_waits_too_long_is_refused():
    admission = Admission("queries", running=1, waiting=1, seconds=0.01)
    done, inside, threads = occupy(admission, 1)
    eventually(lambda: inside)
    with pytest.raises(Busy), admission.enter():
        pytest.fail("it is not admitted")
    done.set()
    threads[0].join(60)
    with admission.enter():
        pass


def test_an_error_within_the_context_frees_the_place():
    admission = Admission("queries", running=1, waiting=0, seconds=1)
    for _ in range(3):
        with pytest.raises(ValueError, match="x"), admission.enter():
            raise ValueError("x")
    with admission.enter():
        pass
