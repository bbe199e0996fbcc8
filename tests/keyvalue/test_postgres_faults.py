"""PostgreSQL failing, disconnecting and rejecting: no write is lost, doubled or made unseen.

What is checked throughout: an apply that returned True is there, once; one that raised Busy is not
there; one that raised OutcomeUnknown is there or not, and that does not change any more.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.faults.faulty_proxy import FaultyProxy
from support.services.postgres import clear, running_cluster

from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.store import PostgresStore


@pytest.fixture
def proxy(postgres_cluster):
    with FaultyProxy(("127.0.0.1", postgres_cluster.port)) as proxy:
        yield proxy


@pytest.fixture
def make_through(postgres_cluster, empty, proxy):
    """Makes stores behind the proxy."""
    url = postgres_cluster.url(empty.rsplit("/", 1)[1], port=proxy.port)
    made = []

    def make(**options):
        made.append(PostgresStore(url, **options))
        return made[-1]

    yield make
    proxy.reset()
    for store in made:
        store.close()


@pytest.fixture
def through(make_through):
    """A store behind the proxy."""
    return make_through()


@pytest.fixture
def impatient(make_through):
    """A store behind the proxy, with short timeouts."""
    return make_through(timeout_seconds=2.0)


def attempt(act):
    """Returns what an act returned, or the class of what it raised."""
    try:
        return act()
    except OutcomeUnknown:
        return OutcomeUnknown
    except Busy:
        return Busy


def recovered(act):
    """Returns what an act returns as soon as it does not raise Busy."""
    deadline = time.monotonic() + 60
    while (answer := attempt(act)) is Busy:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return answer


class Tally:
    """Threads that count one counter up, each step with a receipt, while things go wrong."""

    def __init__(self, store, threads):
        self.store = store
        self.done = threading.Event()
        self.answers = {}
        self.refused = 0
        self.workers = [
            threading.Thread(target=self.count, args=(number,)) for number in range(threads)
        ]
        for worker in self.workers:
            worker.start()

    def count(self, number):
        round_ = 0
        while not self.done.is_set():
            round_ += 1
            held = attempt(lambda: self.store.get("p", b"counter"))
            if held is Busy:
                self.refused += 1
                time.sleep(0.02)
                continue
            receipt = b"%d-%d" % (number, round_)
            writes = [
                Write("p", b"counter", b"%d" % (int(held or 0) + 1)),
                Write("receipts", receipt, b""),
            ]
            expect = [Expect("p", b"counter", held), Expect("receipts", receipt, None)]
            self.answers[receipt] = attempt(lambda w=writes, e=expect: self.store.apply(w, e))

    def await_another(self):
        """Waits until one more apply has been made."""
        before, deadline = self.made(), time.monotonic() + 60
        while self.made() == before:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def made(self):
        return list(self.answers.values()).count(True)

    def finish(self, sound):
        """Ends the threads and compares the records, read by another store, with the results."""
        self.done.set()
        for worker in self.workers:
            worker.join()
        there = {key for key, _ in sound.scan("receipts")}
        assert int(sound.get("p", b"counter") or 0) == len(there), "none was made twice"
        for receipt, answer in self.answers.items():
            if answer is not OutcomeUnknown:
                assert (receipt in there) == (answer is True), (receipt, answer)
        assert there <= self.answers.keys()
        return [answer for answer in self.answers.values() if answer is not False]


def test_no_write_is_lost_or_doubled_when_connections_are_cut(through, proxy, postgres):
    chance = random.Random(7)
    tally = Tally(through, 6)
    for _ in range(25):
        tally.await_another()
        time.sleep(chance.uniform(0, 0.02))
        if chance.random() < 0.5:
            proxy.pass_answers(chance.randrange(200))
        else:
            proxy.cut()
    answers = tally.finish(postgres)
    assert answers.count(True) >= 25
    assert OutcomeUnknown in answers


@pytest.mark.slow
def test_no_write_is_lost_when_response_is_cut_at_any_byte(through, proxy, postgres):
    for count in range(400):
        key = b"%d" % count
        assert through.get("p", b"warm") is None
        proxy.pass_answers(count)
        answer = attempt(lambda k=key: through.apply([Write("p", k, b"1")], [Expect("p", k, None)]))
        proxy.reset()
        there = postgres.get("p", key) == b"1"
        assert answer is OutcomeUnknown or (answer is True and there), count


def test_no_write_is_lost_when_backends_are_terminated(postgres_cluster, empty, postgres):
    tally = Tally(PostgresStore(f"{empty}?application_name=victim"), 6)
    with postgres_cluster.connect() as raw:
        for _ in range(25):
            tally.await_another()
            raw.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'victim' AND random() < 0.4"
            )
    answers = tally.finish(postgres)
    assert answers.count(True) >= 25
    tally.store.close()


def test_terminated_idle_connections_are_replaced_silently(postgres_cluster, empty):
    store = PostgresStore(f"{empty}?application_name=idle", max_open_connections=4)
    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: store.get("p", b"%d" % n), range(4)))
        with postgres_cluster.connect() as raw:
            raw.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'idle'"
            )
            while raw.execute(
                "SELECT 1 FROM pg_stat_activity WHERE application_name = 'idle'"
            ).fetchone():
                time.sleep(0.005)
        assert store.apply([Write("p", b"k", b"1")])
        assert store.get("p", b"k") == b"1"
    store.close()


@pytest.fixture(scope="module")
def mortal():
    """A PostgreSQL server of its own, to be stopped and killed, and a store in it."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def mortal_url(mortal):
    url = mortal.url(mortal.make_database())
    PostgresDatabase(url).migrate()
    return url


@pytest.fixture
def mortal_store(mortal_url):
    clear(mortal_url)
    store = PostgresStore(mortal_url)
    yield store
    store.close()


@pytest.mark.parametrize(
    ("end", "times"),
    [("stop", 1), ("kill", 1), pytest.param("kill", 10, marks=pytest.mark.slow)],
)
def test_no_write_is_lost_when_server_restarts(mortal, mortal_store, end, times):
    tally = Tally(mortal_store, 6)
    for _ in range(times):
        tally.await_another()
        getattr(mortal, end)()
        time.sleep(0.1)
        mortal.start()
    tally.await_another()
    answers = tally.finish(mortal_store)
    assert answers.count(True) > times
    assert tally.refused or Busy in answers or OutcomeUnknown in answers


def test_killed_backend_leaves_transaction_atomic(mortal, mortal_store):
    """The whole server restarts then; the apply that ran is undone, and is known as unknown."""
    assert mortal_store.apply([Write("p", b"a", b"0"), Write("p", b"b", b"0")])
    name = mortal_store._executor._pool._idle[0]._raw.info.dbname
    with mortal.connect(name) as raw, raw.transaction(), ThreadPoolExecutor(1) as pool:
        raw.execute("SELECT 1 FROM kv WHERE key = 'b' FOR UPDATE")
        writes = [Write("p", b"a", b"1"), Write("p", b"b", b"1")]
        answer = pool.submit(attempt, lambda: mortal_store.apply(writes))
        with mortal.connect() as other:
            query = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while not (found := other.execute(query).fetchone()):
                time.sleep(0.01)
        mortal.kill_backend(found[0])
        assert answer.result() is OutcomeUnknown
        raw.close()
    assert recovered(lambda: mortal_store.get_many("p", [b"a", b"b"])) == [b"0", b"0"]
    assert mortal_store.apply([Write("p", b"a", b"1")], [Expect("p", b"a", b"0")])


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_unreachable_database_fails_requests_at_once(mortal, mortal_store, seconds):
    assert mortal_store.apply([Write("p", b"k", b"1")])
    mortal.stop()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with pytest.raises(Busy) as caught:
            mortal_store.get("p", b"k")
        assert caught.value.kind in ("database_unreachable", "connection_lost")
        with pytest.raises(Busy) as caught:
            mortal_store.apply([Write("p", b"k", b"2")])
        assert not isinstance(caught.value, OutcomeUnknown), "it was not even sent"
    assert time.monotonic() < end + 60, "no request waited for the database"
    mortal.start()
    assert recovered(lambda: mortal_store.get("p", b"k")) == b"1"
    assert mortal_store.apply([Write("p", b"k", b"2")], [Expect("p", b"k", b"1")])


def test_apply_is_not_performed_after_outcome_unknown(impatient, proxy, postgres):
    """Its bytes are delayed in the network while the caller continues; then they arrive."""
    assert postgres.apply([Write("p", b"k", b"1")])
    assert recovered(lambda: impatient.get("p", b"k")) == b"1"
    proxy.stall()
    with pytest.raises(OutcomeUnknown):
        impatient.apply([Write("p", b"k", b"late")])
    assert postgres.apply([Write("p", b"k", b"2")], [Expect("p", b"k", b"1")])
    proxy.reset()
    time.sleep(0.5)
    assert postgres.get("p", b"k") == b"2"


def test_unresponsive_network_times_out(impatient, proxy):
    assert recovered(lambda: impatient.get("p", b"k")) is None
    proxy.swallow()
    start = time.monotonic()
    with pytest.raises(Busy) as caught:
        impatient.get("p", b"k")
    assert caught.value.kind == "connection_lost"
    assert "no response within 4 s" in caught.value.message
    assert time.monotonic() - start < 60
    proxy.reset()
    assert recovered(lambda: impatient.get("p", b"k")) is None


def test_slow_network_causes_no_errors(through, proxy, postgres):
    proxy.delay(0.05)
    assert through.apply([Write("p", b"%d" % n, b"v" * 10_000) for n in range(50)])
    assert len(list(through.scan("p"))) == 50
    assert not through.apply([Write("p", b"x", b"")], [Expect("p", b"0", None)])
    assert postgres.get("p", b"x") is None


def test_garbage_response_breaks_connection(through, proxy, postgres):
    assert through.apply([Write("p", b"k", b"1")])
    proxy.garble()
    with pytest.raises(Busy):
        through.get("p", b"k")
    proxy.reset()
    assert recovered(lambda: through.get("p", b"k")) == b"1"
    assert postgres.get("p", b"k") == b"1"


def test_lock_timeout_raises_busy(postgres_cluster, empty, postgres):
    assert postgres.apply([Write("p", b"k", b"1")])
    impatient = PostgresStore(empty, timeout_seconds=2)
    with postgres_cluster.connect(empty.rsplit("/", 1)[1]) as raw, raw.transaction():
        raw.execute("UPDATE kv SET value = 'x' WHERE key = 'k'")
        with pytest.raises(Busy) as caught:
            impatient.apply([Write("p", b"other", b"1"), Write("p", b"k", b"2")])
        assert caught.value.kind == "locked"
        assert postgres.get("p", b"k") == b"1", "readers do not wait"
    assert postgres.get("p", b"other") is None
    impatient.close()


def test_drop_ends_during_concurrent_writes(postgres):
    """Both take rows in orders of their own; where they meet, one of them is made again."""
    keys = [b"%03d" % number for number in range(200)]
    done = threading.Event()

    def write():
        while not done.is_set():
            assert postgres.apply([Write("p", key, b"") for key in reversed(keys)])

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        for _ in range(20):
            postgres.drop("p")
        done.set()
        writing.result()
