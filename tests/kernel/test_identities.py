"""Identities and codecs, against known digests, hashlib and protobuf's own library."""

from __future__ import annotations

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.model.objects.entry import SYSTEM_PREFIX
from anabranch.records import lakefs_pb2 as records

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
METADATA = st.dictionaries(TEXT, TEXT, max_size=4)
INT64 = st.integers(-(2**63), 2**63 - 1)
ENTRY = st.tuples(
    TEXT,
    st.integers(0, 2),
    INT64,
    st.integers(-(2**31), 2**31 - 1),
    INT64,
    TEXT,
    METADATA,
    TEXT,
)


def typed_int(value: int) -> bytes:
    return b"\x02\x08" + struct.pack(">q", value)


def typed_string(value: str) -> bytes:
    return b"\x01" + typed_int(len(value.encode())) + value.encode()


def typed_map(pairs: dict[str, str]) -> bytes:
    keys = sorted(pairs, key=str.encode)
    parts = [typed_string(key) + typed_string(pairs[key]) for key in keys]
    return b"\x04" + typed_int(len(pairs)) + b"".join(parts)


def test_known_digests():
    identity = _kernel.entry_identity(5, "abc", {}, "text/plain")
    known = "f623b19aa609c5f1652c60b7bb5592528b6048b6ec7ae9fd3b652c5d547a04e6"
    assert identity.hex() == known
    commit = _kernel.commit_id("", "Repository created", "", 1_700_000_000, {}, [])
    assert commit == "e7720703b5e19f0c37c665b0bf14fc291522d882cd951d854edb8b1f1c33689d"


def test_commits_of_lakefs(recorded):
    assert len(recorded.commits) >= 3
    for commit in recorded.commits.values():
        computed = _kernel.commit_id(
            commit["committer"],
            commit["message"],
            commit["meta_range_id"],
            commit["creation_date"],
            commit.get("metadata") or {},
            commit["parents"],
        )
        assert computed == commit["id"]


@given(INT64, TEXT, METADATA, TEXT)
def test_entry_identity_is_the_digest_of_its_stream(size, checksum, metadata, content_type):
    stream = typed_int(size) + typed_string(checksum) + typed_map(metadata)
    if content_type:
        stream += typed_string(content_type)
    expected = hashlib.sha256(stream).digest()
    assert _kernel.entry_identity(size, checksum, metadata, content_type) == expected


@given(TEXT, TEXT, TEXT, INT64, METADATA, st.lists(TEXT, max_size=3))
def test_commit_id_is_the_digest_of_its_stream(
    committer, message, metarange, date, metadata, parents
):
    parent_stream = b"\x03" + typed_int(len(parents)) + b"".join(map(typed_string, parents))
    stream = b"".join(
        [
            *map(typed_string, ("commit:v1", committer, message, metarange)),
            typed_int(date),
            typed_map(metadata),
            b"\x05\x00" + typed_int(32) + hashlib.sha256(parent_stream).digest(),
        ]
    )
    computed = _kernel.commit_id(committer, message, metarange, date, metadata, parents)
    assert computed == hashlib.sha256(stream).hexdigest()


@given(ENTRY)
def test_entries_are_what_protobuf_reads_and_writes(entry):
    address, address_type, mtime, nanos, size, checksum, metadata, content_type = entry
    identity, data = _kernel.encode_entry(*entry)
    assert identity == _kernel.entry_identity(size, checksum, metadata, content_type)
    message = records.Entry.FromString(data)
    expected = records.Entry(
        address=address,
        size=size,
        e_tag=checksum,
        metadata=metadata,
        address_type=address_type,
        content_type=content_type,
    )
    expected.last_modified.seconds = mtime
    expected.last_modified.nanos = nanos
    assert message == expected
    assert _kernel.decode_entry(data) == entry
    assert _kernel.decode_entry(expected.SerializeToString()) == entry
    if len(metadata) < 2:
        assert data == expected.SerializeToString(), "one order of fields, defaults left out"


@given(st.binary(), st.binary())
def test_any_bytes_are_an_entry_or_an_error(data, tail):
    for attempt in (data, data + tail):
        try:
            message = records.Entry.FromString(attempt)
        except Exception:  # noqa: BLE001  every message that protobuf refuses is refused
            with pytest.raises(_kernel.KernelError):
                _kernel.decode_entry(attempt)
        else:
            try:
                decoded = _kernel.decode_entry(attempt)
            except _kernel.KernelError:
                continue  # groups, which proto3 has given up, are skipped by protobuf alone
            assert decoded[0] == message.address
            assert decoded[4] == message.size
            assert decoded[6] == dict(message.metadata)


@given(st.binary(), st.none() | st.tuples(st.binary(min_size=1), st.binary()))
def test_staged_changes_are_what_protobuf_reads_and_writes(key, value):
    data = _kernel.encode_staged(key, value)
    message = records.StagedEntryData(key=key)
    if value is not None:
        message.identity, message.data = value
    assert data == message.SerializeToString()
    assert _kernel.decode_staged(data) == (key, value)


def test_arguments_of_the_wrong_type_are_type_errors():
    with pytest.raises(TypeError):
        _kernel.entry_identity(1, "c", [("a", "b")], "")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _kernel.entry_identity(1, "c", {"a": 1}, "")  # type: ignore[dict-item]
    with pytest.raises(OverflowError):
        _kernel.entry_identity(2**63, "c", {}, "")


def test_system_metadata_is_no_part_of_an_identity():
    system = {f"{SYSTEM_PREFIX}checksum": "x", SYSTEM_PREFIX: "y"}
    plain = _kernel.entry_identity(5, "abc", {"k": "v"}, "text/plain")
    assert _kernel.entry_identity(5, "abc", {"k": "v", **system}, "text/plain") == plain
    entry = ("a", 1, 0, 0, 5, "abc", {"k": "v", **system}, "text/plain")
    identity, data = _kernel.encode_entry(*entry)
    assert identity == plain
    assert _kernel.decode_entry(data) == entry
    other = {SYSTEM_PREFIX[:-1]: "x"}
    assert _kernel.entry_identity(5, "abc", {"k": "v", **other}, "text/plain") != plain
