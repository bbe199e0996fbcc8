"""Records of a journal that is complete, torn or damaged at any byte."""

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
    """Returns the position at which each record ends."""
    return [
        len(journal([*written[:count], group[:within]]))
        for count, group in enumerate(written)
        for within in range(1, len(group) + 1)
    ]


@given(groups)
def test_records_are_read_in_the_order_of_writing(written):
    result = read(journal(written) + bytes(64))
    assert result.records == [record for group in written for record in group]
    assert result.damaged == []


@given(groups, groups, groups)
def test_records_of_earlier_uses_of_a_segment_are_ignored(written, before, first):
    data = journal(written)
    for life, earlier in ((4, before), (3, first)):
        data += journal(earlier, life)[len(data) :]
    result = read(data)
    assert result.records == [record for group in written for record in group]
    assert result.damaged == []


def test_a_segment_torn_at_any_byte_ends_there_without_damage():
    data = journal(GROUPS)
    old = journal([[block("space/old", b"o" * 50)] * 20], 4)
    for cut in range(START, len(data) + 1):
        whole = [record for record, end in zip(RECORDS, ENDS, strict=True) if end <= cut]
        for rest in (b"", b"\xff" * 500, old[cut:]):
            result = read(data[:cut] + rest)
            assert result == (whole, [])
        # if the torn bytes were zeros, the record is complete
        result = read(data[:cut] + bytes(500))
        assert result.damaged == []
        assert result.records in (whole, RECORDS[: len(whole) + 1])


def test_a_changed_byte_is_reported_or_in_the_last_group():
    """A changed byte loses one record, which is reported if a later group proves it was synced."""
    data = journal(GROUPS)
    for at in range(START, len(data)):
        number = next(n for n, end in enumerate(ENDS) if at < end)
        changed = bytearray(data)
        changed[at] ^= 0x10
        result = read(bytes(changed))
        assert result.records == RECORDS[:number] + RECORDS[number + 1 :]
        if at < SYNCED:
            (damage,) = result.damaged
            assert damage.position == [START, *ENDS][number]
            assert damage.path in {"", RECORDS[number].path}
        else:
            assert result.damaged == []


def test_a_record_with_a_changed_body_is_reported_by_name():
    (damage,) = read(journal(GROUPS).replace(b"first", b"fjrst")).damaged
    assert (damage.path, damage.digest) == ("space/data/a", RECORDS[0].digest)


def test_records_after_a_damaged_beginning_are_read():
    for at in range(START):
        changed = bytearray(journal(GROUPS))
        changed[at] ^= 0x01
        assert read(bytes(changed)).records == RECORDS


@given(st.binary(max_size=300))
def test_random_bytes_have_no_records(data):
    assert read(data) == ([], [])
    assert read(IDENTITY + data) == ([], [])


@given(groups, st.lists(records, min_size=2, max_size=4), st.data())
def test_records_of_one_group_may_reach_the_disk_in_any_order(written, last, draw):
    """The last group may not have been acknowledged, so its loss is not damage."""
    data = journal([*written, last])
    start = draw.draw(st.integers(len(journal(written)), len(data)))
    end = draw.draw(st.integers(start, len(data)))
    result = read(data[:start] + bytes(end - start) + data[end:])
    earlier = [record for group in written for record in group]
    assert result.records[: len(earlier)] == earlier
    assert result.damaged == []


ENDS = ends(GROUPS)
SYNCED = ENDS[3]
"""The position up to which the records of the third group prove that records were synced."""
