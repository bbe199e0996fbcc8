"""Turns of callers that wait for places: a model knows who may hold how many."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from anabranch.server.execution.fair_queue import FairQueue

CALLERS = st.sampled_from(["a", "b", "c", ""])
STEPS = st.lists(st.tuples(st.sampled_from(["add", "take", "release"]), CALLERS), max_size=80)


def test_callers_take_turns_however_many_calls_they_have():
    queue: FairQueue[str] = FairQueue(100)
    for number in range(50):
        queue.add("many", f"many{number}")
    queue.add("few", "few0")
    queue.add("few", "few1")
    taken = [queue.take() for _ in range(5)]
    assert taken == [
        ("many", "many0"),
        ("few", "few0"),
        ("many", "many1"),
        ("few", "few1"),
        ("many", "many2"),
    ]
    assert len(queue) == 47


def test_a_caller_has_no_more_than_its_share_and_the_next_when_it_gives_one_back():
    queue: FairQueue[int] = FairQueue(2)
    for number in range(4):
        queue.add("slow", number)
    assert [queue.take(), queue.take(), queue.take()] == [("slow", 0), ("slow", 1), None]
    queue.add("other", 7)
    assert queue.take() == ("other", 7)
    queue.release("slow")
    assert queue.take() == ("slow", 2)
    assert queue.take() is None


def test_the_server_itself_has_no_share():
    queue: FairQueue[int] = FairQueue(1)
    for number in range(3):
        queue.add("", number)
    assert [queue.take() for _ in range(3)] == [("", 0), ("", 1), ("", 2)]


@given(STEPS)
def test_no_call_is_lost_and_none_waits_whose_caller_may_have_a_place(steps):
    queue: FairQueue[int] = FairQueue(2)
    waiting: dict[str, list[int]] = {caller: [] for caller in ("a", "b", "c", "")}
    held: Counter[str] = Counter()
    for number, (step, caller) in enumerate(steps):
        if step == "add":
            queue.add(caller, number)
            waiting[caller].append(number)
        elif step == "take":
            may = {one for one, items in waiting.items() if items and (not one or held[one] < 2)}
            taken = queue.take()
            assert (taken is not None) == bool(may)
            if taken is not None:
                assert taken[0] in may
                assert taken[1] == waiting[taken[0]].pop(0)
                held[taken[0]] += 1
        elif held[caller]:
            queue.release(caller)
            held[caller] -= 1
        assert len(queue) == sum(map(len, waiting.values()))
