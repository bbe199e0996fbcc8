"""Merged applies: their result equals that of some serial order."""

from __future__ import annotations

from itertools import permutations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.batching.scheduler import BatchScheduler
from anabranch.errors import Busy, Invalid
from anabranch.keyvalue.batching.apply_batching import Apply, apply_all
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

KEYS = [b"a", b"b", b"c"]
VALUES = [None, b"1", b"2"]

writes = st.builds(Write, st.just("p"), st.sampled_from(KEYS), st.sampled_from(VALUES))
expectations = st.builds(Expect, st.just("p"), st.sampled_from(KEYS), st.sampled_from(VALUES))
applies = st.builds(
    Apply, st.lists(writes, min_size=1, max_size=3), st.lists(expectations, max_size=2)
)


def run_batched(store: KeyValueStore, group: list[Apply]) -> list[bool]:
    """Makes applies in one batch of the scheduler; returns whether each was made."""
    scheduler, outcomes = BatchScheduler(), {}
    for number, apply in enumerate(group):
        scheduler.start(
            store.apply,
            (apply.writes, apply.expect),
            lambda result, error, number=number: outcomes.update({number: result or error}),
        )
    while scheduler.busy:
        list(scheduler.steps())
    scheduler.close()
    return [outcomes[number] is True for number in range(len(group))]


def run_serially(state: dict, group: list[Apply]) -> list[bool]:
    """Makes applies in a dictionary."""
    outcomes = []
    for apply in group:
        holds = all(state.get(key) == value for _, key, value in apply.expect)
        outcomes.append(holds)
        if holds:
            state.update({key: value for _, key, value in apply.writes})
    return outcomes


def possible(group: list[Apply]) -> list[tuple]:
    """Returns every outcome and end state that some order has."""
    results = []
    for order in permutations(range(len(group))):
        state = dict.fromkeys(KEYS)
        outcomes = run_serially(state, [group[number] for number in order])
        by_number = dict(zip(order, outcomes, strict=True))
        results.append(([by_number[number] for number in range(len(group))], state))
    return results


def check(store: KeyValueStore, group: list[Apply]) -> None:
    store.apply([Write("p", key, None) for key in KEYS])
    outcomes = run_batched(store, group)
    state = dict(zip(KEYS, store.get_many("p", KEYS), strict=True))
    assert (outcomes, state) in possible(group)


@given(st.lists(applies, min_size=1, max_size=4))
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_batched_applies_equal_some_serial_order_on_sqlite(sqlite, group):
    check(sqlite, group)


@given(st.lists(applies, min_size=1, max_size=4))
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_batched_applies_equal_some_serial_order_on_postgres(postgres, group):
    check(postgres, group)


def test_applies_with_equal_expectations_are_merged():
    branch = Expect("repo", b"branches/main", b"record")
    ran = []

    def run(some):
        ran.append(list(some))
        return [True] * len(some)

    group = [Apply([Write("token", b"%d" % number, b"")], [branch]) for number in range(16)]
    assert apply_all(group, run) == [True] * 16
    assert ran == [[Apply([write for apply in group for write in apply.writes], [branch])]]


def test_invalid_apply_does_not_affect_merged_ones():
    def run(some):
        return [
            Invalid("too large", kind="too_large")
            if any(value == b"large" for _, _, value in apply.writes)
            else True
            for apply in some
        ]

    group = [Apply([Write("p", b"k", value)], []) for value in (b"small", b"large", b"small")]
    outcomes = apply_all(group, run)
    assert [outcomes[0], outcomes[2]] == [True, True]
    assert isinstance(outcomes[1], Invalid)


def test_errors_of_merged_applies_are_copies():
    busy = Busy("the disk is full", kind="disk_full", hint="Make room.")
    group = [Apply([Write("p", b"%d" % number, b"")], []) for number in range(3)]
    outcomes = apply_all(group, lambda some: [busy] * len(some))
    assert len(set(map(id, outcomes))) == 3
    assert {(type(error), error.message, error.kind, error.hint) for error in outcomes} == {
        (Busy, "the disk is full", "disk_full", "Make room.")
    }


def test_batched_reads_are_one_request(postgres, monkeypatch):
    postgres.apply([Write("p", b"%d" % number, b"v%d" % number) for number in range(8)])
    requests = []
    run = postgres._executor.run
    monkeypatch.setattr(
        postgres._executor, "run", lambda *a, **k: requests.append(a) or run(*a, **k)
    )
    scheduler, values = BatchScheduler(), {}
    for number in range(10):
        scheduler.start(
            postgres.get,
            ("p" if number % 2 else "q", b"%d" % number),
            lambda value, error, number=number: values.update({number: value or error}),
        )
    list(scheduler.steps())
    scheduler.close()
    assert len(requests) == 1
    assert values == {n: b"v%d" % n if n % 2 and n < 8 else None for n in range(10)}


def test_apply_of_nothing_returns_true(postgres):
    assert postgres.apply([]) is True
