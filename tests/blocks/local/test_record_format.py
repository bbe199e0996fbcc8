"""Records of a journal: read back whole, torn at any byte, damaged at any byte."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from anabranch.blocks.local.journal.record_format import (
    IDENTITY_BYTES,
    Record,
    Records,
    encode,
    encode_start,
    read_records,
)

IDENTITY = bytes(range(100, 100 + IDENTITY_BYTES))


def block(path: str, body: bytes) -> Record:
    return Record(path, hashlib.md5(body, usedforsecurity=False).digest(), body)


def gone(path: str) -> Record:
    return Record(path, bytes(16), None)


def journal(groups: list[list[Record]], life: int = 5) -> bytes:
    """Returns a journal in which each group was written and synced together."""
    data = encode_start(IDENTITY, life)
    for group in groups:
        batch_start = len(data)
        data += b"".join(b"".join(encode(IDENTITY, life, batch_start, record)) for record in group)
    return data


def read(data: bytes) -> Records:
    return read_records(data, IDENTITY)


GROUPS = [
    [block("space/data/a", b"first"), block("space/data/é", b"")],
    [block("space/data/c", b"x" * 100), gone("space/data/a")],
    [block("space/data/d", IDENTITY * 3)],
]
RECORDS = [record for group in GROUPS for record in group]

paths = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
records = st.one_of(st.builds(block, paths, st.binary(max_size=60)), st.builds(gone, paths))
groups = st.lists(st.lists(records, min_size=1, max_size=4), max_size=5)


START = len(journal([]))


def ends(written: list[list[Record]]) -> list[int]:
    """Returns where each record ends."""
    return [
        len(journal([*written[:count], group[:within]]))
        for count, group in enumerate(written)
        for within in range(1, len(group) + 1)
    ]


@given(groups)
def test_are_read_in_the_order_of_writing(written):
    found = read(journal(written) + bytes(64))
    assert found.records == [record for group in written for record in group]
    assert found.damaged == []


@given(groups, groups, groups)
def test_of_earlier_lives_are_not_read(written, before, first):
    data = journal(written)
    for life, earlier in ((4, before), (3, first)):
        data += journal(earlier, life)[len(data) :]
    found = read(data)
    assert found.records == [record for group in written for record in group]
    assert found.damaged == []


def test_torn_at_any_byte_end_there_without_damage():
    data = journal(GROUPS)
    old = journal([[block("space/old", b"o" * 50)] * 20], 4)
    for cut in range(START, len(data) + 1):
        whole = [record for record, end in zip(RECORDS, ENDS, strict=True) if end <= cut]
        for rest in (b"", b"\xff" * 500, old[cut:]):
            found = read(data[:cut] + rest)
            assert found == (whole, [])
        # what was cut off may have been zeros: then nothing is missing
        found = read(data[:cut] + bytes(500))
        assert found.damaged == []
        assert found.records in (whole, RECORDS[: len(whole) + 1])


def test_with_any_byte_changed_are_reported_or_last():
    """A changed byte loses one record; it is reported if a later group shows it was synced."""
    data = journal(GROUPS)
    for at in range(START, len(data)):
        number = next(n for n, end in enumerate(ENDS) if at < end)
        changed = bytearray(data)
        changed[at] ^= 0x10
        found = read(bytes(changed))
        assert found.records == RECORDS[:number] + RECORDS[number + 1 :]
        if at < SYNCED:
            (damage,) = found.damaged
            assert damage.position == [START, *ENDS][number]
            assert damage.path in {"", RECORDS[number].path}
        else:
            assert found.damaged == []


def test_with_a_changed_body_are_reported_by_name():
    (damage,) = read(journal(GROUPS).replace(b"first", b"fjrst")).damaged
    assert (damage.path, damage.digest) == ("space/data/a", RECORDS[0].digest)


def test_behind_a_damaged_beginning_are_read():
    for at in range(START):
        changed = bytearray(journal(GROUPS))
        changed[at] ^= 0x01
        assert read(bytes(changed)).records == RECORDS


@given(st.binary(max_size=300))
def test_of_nonsense_are_none(data):
    assert read(data) == ([], [])
    assert read(IDENTITY + data) == ([], [])


@given(groups, st.lists(records, min_size=2, max_size=4), st.data())
def test_that_were_written_together_may_reach_the_disk_in_any_order(written, last, draw):
    """A group that no later one follows may not have been acknowledged: it is not missed."""
    data = journal([*written, last])
    start = draw.draw(st.integers(len(journal(written)), len(data)))
    end = draw.draw(st.integers(start, len(data)))
    found = read(data[:start] + bytes(end - start) + data[end:])
    kept = [record for group in written for record in group]
    assert found.records[: len(kept)] == kept
    assert found.damaged == []


ENDS = ends(GROUPS)
SYNCED = ENDS[3]
"""What the third group's records know to have been synced."""
