"""Counters in their xids distinguish addresses of Anabranch from those of lakeFS."""

from __future__ import annotations

import base64
import tarfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.model.objects.data_address import PARTITION_SPAN, is_generated
from anabranch.testing.lake import Clock
from anabranch.versioning.identifiers import Identifiers

COUNTERS = st.integers(0, (1 << 24) - 1)
PROCESS = bytes.fromhex("6bc7681ad8")


def xid(seconds: int, process: bytes, counter: int) -> str:
    raw = seconds.to_bytes(4) + process + (counter % (1 << 24)).to_bytes(3)
    return base64.b32hexencode(raw).decode().rstrip("=").lower()


def identifiers(clock: Clock, counter: int) -> Identifiers:
    given_bytes = iter([PROCESS, counter.to_bytes(3)])
    return Identifiers(clock, lambda _: next(given_bytes))


@example(0)
@example((1 << 23) - 1)
@example(1 << 23)
@example((1 << 24) - 1)
@given(COUNTERS)
def test_every_new_address_is_proved(counter):
    clock = Clock()
    made = identifiers(clock, counter)
    xids = []
    for _ in range(3):
        for _ in range(3):
            address = made.data_address()
            assert is_generated(address)
            assert is_generated(f"s3://lake/sea/{address}")
            xids += [address.rpartition("/")[2], made.xid()]
        clock.advance(3600)
    assert len(set(xids)) == len(xids)


def test_new_address_is_proved_after_many_other_ids():
    made = identifiers(Clock(), 1 << 20)
    first = made.data_address()
    for _ in range(PARTITION_SPAN):
        made.xid()
    second = made.data_address()
    assert is_generated(second)
    assert first.split("/")[1] != second.split("/")[1]


@example(0, 1)
@example(1 << 23, 1)
@example(PARTITION_SPAN // 2, 1)
@given(COUNTERS, st.integers(1, 60_000))
def test_addresses_of_the_other_form_are_not_proved(counter, taken):
    """lakeFS takes the counter of the partition from the same ascending numbers."""
    partition = xid(2_365_092_672, PROCESS, counter)
    assert not is_generated(f"data/{partition}/{xid(1_700_000_000, PROCESS, counter + taken)}")


@given(COUNTERS, COUNTERS)
def test_addresses_of_two_processes_are_not_proved(first, second):
    partition = xid(2_365_092_672, PROCESS, -first)
    assert not is_generated(f"data/{partition}/{xid(1_700_000_000, bytes(5), second)}")


def recorded_addresses() -> set[str]:
    """The addresses in the tables of both recorded installations."""
    data = Path(__file__).parents[2] / "data"
    found = set()
    for archive in data.glob("lakefs-1.84*/**/namespace.tar.gz"):
        with tarfile.open(archive) as files:
            for member in files:
                if "/data/" in member.name:
                    found.add(member.name)
    return found


def test_addresses_that_lakefs_generated_are_not_proved():
    addresses = recorded_addresses()
    assert len(addresses) > 20
    assert not [address for address in addresses if is_generated(address)]


@pytest.mark.parametrize("change", ["{},token", "x{}", "{}/", "data/{}x", "{} ", "{}\n"])
def test_other_addresses_are_not_proved(change):
    address = identifiers(Clock(), 1 << 20).data_address()
    assert not is_generated(change.format(address))
