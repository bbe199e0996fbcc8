"""Statements that PostgreSQL rejects: they change nothing, or are repeated and applied once."""

from __future__ import annotations

import pytest

from anabranch.errors import Busy, Invalid, OutcomeUnknown
from anabranch.keyvalue.contract import Expect, Write

FAIL = """
CREATE SEQUENCE IF NOT EXISTS tries;
CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.key = 'fails' AND nextval('tries') <= {times} THEN
        RAISE EXCEPTION 'made to fail' USING ERRCODE = '{state}';
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER fail AFTER INSERT OR UPDATE ON kv FOR EACH ROW EXECUTE FUNCTION fail();
"""


@pytest.fixture
def failing(postgres_cluster, empty, postgres):
    """Makes the first so many writes of the key `fails` fail so; returns the store."""
    name = empty.rsplit("/", 1)[1]

    def make(state, times):
        with postgres_cluster.connect(name) as raw:
            raw.execute(FAIL.format(state=state, times=times).encode())
        return postgres

    yield make
    with postgres_cluster.connect(name) as raw:
        raw.execute("DROP FUNCTION fail CASCADE")
        raw.execute("DROP SEQUENCE tries")


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_aborted_transaction_is_retried_and_applied_once(failing, state):
    store = failing(state, 3)
    writes = [Write("p", b"first", b"1"), Write("q", b"fails", b"1")]
    assert store.apply(writes, [Expect("p", b"first", None)])
    assert store.get("q", b"fails") == b"1"
    assert not store.apply(writes, [Expect("p", b"first", None)])


@pytest.mark.parametrize(
    ("state", "error", "kind"),
    [
        ("40001", Busy, "locked"),
        ("55P03", Busy, "locked"),
        ("57014", Busy, "locked"),
        ("53100", Busy, "disk_full"),
        ("53200", Busy, "locks_exhausted"),
        ("25006", Busy, "read_only_database"),
        ("XX000", Busy, "storage_failed"),
        ("54000", Invalid, "invalid"),
    ],
)
def test_rejected_statement_changes_nothing(failing, state, error, kind):
    store = failing(state, 1_000)
    store.apply([Write("p", b"first", b"0")])
    writes = [Write("p", b"first", b"1"), Write("q", b"fails", b"1")]
    for _ in range(2):
        with pytest.raises(error) as caught:
            store.apply(writes)
        assert caught.value.kind == kind
        assert not isinstance(caught.value, OutcomeUnknown)
    assert store.get("p", b"first") == b"0"
    assert store.get("q", b"fails") is None
    assert store.apply([Write("p", b"first", b"2")])
