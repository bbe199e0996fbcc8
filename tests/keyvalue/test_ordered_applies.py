"""Applies over PostgreSQL that follow one another are made in their order, several at a time."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from simulation.postgres import Database, open_store
from support.eventually import eventually
from support.session.sizes import sized

from anabranch.batching.order import takes_place
from anabranch.errors import Busy, Invalid, OutcomeUnknown
from anabranch.keyvalue.contract import Expect, Write

KEY = "p", b"branch"
TIMEOUT = 60
UNKNOWN = ["lost", "late", "unsent"]


class Transactions:
    """What is sent to a model of the database: the first transaction waits until `go` is set, the
    others become what `fates` says.
    """

    def __init__(self, fates=()):
        self.sent = []
        self.fates = list(fates)
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, statements):
        writes = [values[1] for sql, values in statements if sql.startswith(b"INSERT")]
        if not writes:
            return "made"
        self.sent.append(len(writes))
        if len(self.sent) == 1:
            self.begun.set()
            assert self.go.wait(TIMEOUT)
            return "made"
        return self.fates.pop(0) if self.fates else "made"


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as pool:
        yield pool


def step(before, after, key=KEY):
    """Returns the arguments of an apply that changes a value."""
    return [Write(*key, after)], [Expect(*key, before)]


def begin(pool, store, *arguments, order="main"):
    """Begins an apply, and returns its result later; it has its place."""
    place = threading.Event()

    def apply():
        with takes_place(place, order):
            return store.apply(*arguments)

    begun = pool.submit(apply)
    assert place.wait(TIMEOUT)
    return begun


def chain(pool, store, transactions, *steps):
    """Begins applies one after another while the first is under way; returns their results."""
    begun = [begin(pool, store, *steps[0])]
    assert transactions.begun.wait(TIMEOUT)
    begun += [begin(pool, store, *each) for each in steps[1:]]
    transactions.go.set()
    return begun


def test_those_that_wait_are_made_in_one_transaction(pool):
    transactions = Transactions()
    store = open_store(Database(), transactions)
    steps = [step(None, b"1"), step(b"1", b"2"), step(b"2", b"3"), step(b"3", b"4")]
    begun = chain(pool, store, transactions, *steps)
    assert [each.result(TIMEOUT) for each in begun] == [True] * 4
    assert transactions.sent == [1, 3]
    assert store.get(*KEY) == b"4"
    assert store._ordered._queues == store._ordered._users == {}


def test_each_is_made_only_if_what_it_expects_holds(pool):
    transactions = Transactions()
    store = open_store(Database(), transactions)
    steps = [step(None, b"1"), step(b"other", b"2"), step(b"1", b"3"), step(b"2", b"4")]
    begun = chain(pool, store, transactions, *steps)
    assert [each.result(TIMEOUT) for each in begun] == [True, False, True, False]
    assert store.get(*KEY) == b"3"


@pytest.mark.parametrize("fate", UNKNOWN)
def test_an_unknown_outcome_is_that_of_all(pool, fate):
    transactions, database = Transactions([fate]), Database()
    store = open_store(database, transactions)
    begun = chain(pool, store, transactions, step(None, b"1"), step(b"1", b"2"), step(b"2", b"3"))
    assert begun[0].result(TIMEOUT)
    errors = [each.exception(TIMEOUT) for each in begun[1:]]
    assert [type(error) for error in errors] == [OutcomeUnknown] * 2
    assert errors[0] is not errors[1]
    database.finish()
    assert store.get(*KEY) == (b"3" if fate == "lost" else b"1")


def test_a_conflict_is_repeated_for_all(pool):
    transactions = Transactions(["refused"])
    store = open_store(Database(), transactions)
    begun = chain(pool, store, transactions, step(None, b"1"), step(b"1", b"2"), step(b"2", b"3"))
    assert [each.result(TIMEOUT) for each in begun] == [True] * 3
    assert transactions.sent == [1, 2, 2]
    transactions = Transactions(["refused"] * 10)
    store = open_store(Database(), transactions)
    begun = chain(pool, store, transactions, step(None, b"1"), step(b"1", b"2"), step(b"2", b"3"))
    assert [type(each.exception(TIMEOUT)) for each in begun[1:]] == [Busy] * 2
    assert store.get(*KEY) == b"1"


def test_others_are_not_delayed(pool):
    transactions = Transactions()
    store = open_store(Database(), transactions)
    first = begin(pool, store, *step(None, b"1"))
    assert transactions.begun.wait(TIMEOUT)
    other = begin(pool, store, *step(None, b"1", ("p", b"other")), order="other")
    assert other.result(TIMEOUT)
    assert store.apply(*step(None, b"1", ("p", b"third")))
    assert not first.done()
    transactions.go.set()
    assert first.result(TIMEOUT)


def test_one_that_is_invalid_leaves_the_others(pool, postgres, postgres_cluster, empty):
    too_long = [Write("p", random.randbytes(10_000), b"1")], [Expect(*KEY, b"1")]
    steps = [step(None, b"1"), too_long, step(b"1", b"2")]
    with postgres_cluster.connect(empty.rsplit("/", 1)[1]) as other, other.transaction():
        other.execute("LOCK TABLE kv")  # the first waits, and the others for it
        begun = [begin(pool, postgres, *each) for each in steps]
        (queue,) = postgres._ordered._queues.values()
        eventually(lambda: len(queue._waiting) == 2)
    assert begun[0].result(TIMEOUT)
    assert type(begun[1].exception(TIMEOUT)) is Invalid
    assert begun[2].result(TIMEOUT)
    assert postgres.get(*KEY) == b"2"


def test_many_threads_of_two_stores_count_together(postgres, empty):
    rounds, threads = sized(10, weekly=100), 8
    other = type(postgres)(empty)
    postgres.apply([Write(*KEY, b"0")])

    def count(store):
        for _ in range(rounds):
            done = False
            while not done:
                now = store.get(*KEY)
                with takes_place(threading.Event(), "main"):
                    done = store.apply(*step(now, b"%d" % (int(now) + 1)))

    with ThreadPoolExecutor(threads) as counting:
        list(counting.map(count, [postgres, other] * (threads // 2)))
    assert other.get(*KEY) == b"%d" % (threads * rounds)
    other.close()
