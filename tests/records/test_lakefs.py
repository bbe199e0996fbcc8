"""Records have the bytes of the format, and generated files match their source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.records import lakefs_pb2 as records

SOURCE = Path(__file__).parents[2] / "src"
ROOM = Path("anabranch/records")


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def whole(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def chunk(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


MOMENT = whole(1, 1_700_000_000) + whole(2, 5)
PAIR = chunk(1, b"k") + chunk(2, b"v")

BY_HAND = [
    (
        records.Entry(address="a", size=300, e_tag="e", metadata={"k": "v"}, content_type="t"),
        chunk(1, b"a") + whole(3, 300) + chunk(4, b"e") + chunk(5, PAIR) + chunk(7, b"t"),
    ),
    (
        records.Entry(address_type=records.Entry.FULL),
        whole(6, 2),
    ),
    (
        records.RangeData(min_key=b"\xff", max_key=b"\xff\x00", estimated_size=1 << 63, count=9),
        chunk(1, b"\xff") + chunk(2, b"\xff\x00") + whole(3, 1 << 63) + whole(4, 9),
    ),
    (
        records.RepositoryData(
            id="i",
            storage_namespace="n",
            default_branch_id="m",
            creation_date={"seconds": 1_700_000_000, "nanos": 5},
            state=records.RepositoryData.IN_DELETION,
            instance_uid="u",
            read_only=True,
            storage_id="s",
        ),
        chunk(1, b"i")
        + chunk(2, b"n")
        + chunk(3, b"m")
        + chunk(4, MOMENT)
        + whole(5, 1)
        + chunk(6, b"u")
        + whole(7, 1)
        + chunk(8, b"s"),
    ),
    (
        records.BranchData(
            id="b", commit_id="c", staging_token="t", sealed_tokens=["y", "x"], hidden=True
        ),
        chunk(1, b"b")
        + chunk(2, b"c")
        + chunk(3, b"t")
        + chunk(4, b"y")
        + chunk(4, b"x")
        + whole(5, 1),
    ),
    (records.TagData(id="t", commit_id="c"), chunk(1, b"t") + chunk(2, b"c")),
    (
        records.CommitData(
            id="i",
            committer="c",
            message="m",
            creation_date={"seconds": 1_700_000_000, "nanos": 5},
            meta_range_id="r",
            metadata={"k": "v"},
            parents=["p", "q"],
            version=1,
            generation=200,
        ),
        chunk(1, b"i")
        + chunk(2, b"c")
        + chunk(3, b"m")
        + chunk(4, MOMENT)
        + chunk(5, b"r")
        + chunk(6, PAIR)
        + chunk(7, b"p")
        + chunk(7, b"q")
        + whole(8, 1)
        + whole(9, 200),
    ),
    (
        records.StagedEntryData(key=b"k", identity=b"i", data=b"d"),
        chunk(1, b"k") + chunk(2, b"i") + chunk(3, b"d"),
    ),
    (
        records.BranchProtectionRules(
            branch_pattern_to_blocked_actions={"k": {"value": [0, 1]}},
        ),
        chunk(1, chunk(1, b"k") + chunk(2, chunk(1, b"\x00\x01"))),
    ),
    (records.TaskResultData(passed=True), whole(9, 1)),
    (
        records.UserData(
            created_at={"seconds": 1_700_000_000, "nanos": 5},
            username="u",
            friendly_name="f",
            email="e",
            encrypted_password=b"p",
            source="s",
            external_id="x",
        ),
        chunk(1, MOMENT)
        + chunk(2, b"u")
        + chunk(3, b"f")
        + chunk(4, b"e")
        + chunk(5, b"p")
        + chunk(6, b"s")
        + chunk(7, b"x"),
    ),
    (
        records.CredentialData(
            access_key_id="a",
            secret_access_key_encrypted_bytes=b"s",
            issued_date={"seconds": 1_700_000_000, "nanos": 5},
            user_id=b"u",
        ),
        chunk(1, b"a") + chunk(2, b"s") + chunk(3, MOMENT) + chunk(4, b"u"),
    ),
]


@pytest.mark.parametrize(("record", "data"), BY_HAND, ids=lambda value: type(value).__name__)
def test_records_have_the_bytes_of_the_format(record, data):
    assert record.SerializeToString() == data
    assert type(record).FromString(data) == record


def test_dump_of_references_has_lakefs_names():
    names = [
        records.DESCRIPTOR.message_types_by_name[name].full_name
        for name in ("CommitData", "BranchData", "TagData")
    ]
    assert names == [
        "io.treeverse.lakefs.graveler.CommitData",
        "io.treeverse.lakefs.graveler.BranchData",
        "io.treeverse.lakefs.graveler.TagData",
    ]


def test_generated_files_match_source(tmp_path):
    pytest.importorskip("grpc_tools", reason="grpcio-tools makes the records; not installed")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SOURCE}"]
    outs = [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([*command, *outs, str(ROOM / "lakefs.proto")], check=True)
    for name in ("lakefs_pb2.py", "lakefs_pb2.pyi"):
        assert (tmp_path / ROOM / name).read_text() == (SOURCE / ROOM / name).read_text()
