"""Audit logs in files: several writers, rotation, torn lines, and verification."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from anabranch.audit.chain import FIRST, parse_line
from anabranch.audit.file import AuditFile, with_older_files
from anabranch.audit.verification import verify
from anabranch.errors import Invalid

NO_LIMIT = 1 << 40


def open_log(path, *, max_bytes=NO_LIMIT, keep_files=100):
    return AuditFile(path, max_bytes=max_bytes, keep_files=keep_files)


def lines_of(path):
    return [line for each in with_older_files(path) for line in each.read_bytes().splitlines()]


def record(number):
    return {"event": "decision", "user": "jane", "number": number}


WRITE_MANY = """
import sys
from pathlib import Path
from anabranch.audit.file import AuditFile

log = AuditFile(Path(sys.argv[1]), max_bytes=5_000, keep_files=100)
for number in range(50):
    log.write([{"by": int(sys.argv[2]), "number": number}])
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.log"


def test_chain_begins_with_zeros_and_continues_after_a_restart(path):
    for number in range(3):
        open_log(path).write([record(number), record(number)])
    lines = lines_of(path)
    assert parse_line(lines[0])["previous"] == FIRST
    assert verify(lines, is_beginning=True) == (6, "")
    assert path.stat().st_mode & 0o777 == 0o600


def test_processes_that_write_at_once_make_one_chain_across_rotated_files(path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_MANY, path, str(each)]) for each in range(3)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    lines = lines_of(path)
    assert len(with_older_files(path)) > 3
    assert verify(lines, is_beginning=True) == (150, "")
    for writer in range(3):
        own = [each["number"] for line in lines if (each := parse_line(line))["by"] == writer]
        assert own == list(range(50))


def test_no_more_files_are_kept_than_allowed(path):
    log = open_log(path, max_bytes=200, keep_files=2)
    for number in range(10):
        log.write([record(number)])
    assert len(list(path.parent.glob("audit.log.[0-9]*"))) == 2
    kept = lines_of(path)
    assert verify(kept).problem == ""
    assert verify(kept, is_beginning=True).problem == "it does not follow the line before"


def changed(lines, rng):
    """Returns the lines with one change, and the number of the first line that shows it."""
    lines, at = list(lines), rng.randrange(1, len(lines) - 1)
    kind = rng.choice(["alter", "remove", "repeat", "swap", "insert"])
    if kind == "alter":
        position = rng.randrange(len(lines[at]))
        flipped = bytes([lines[at][position] ^ 1])
        lines[at] = lines[at][:position] + flipped + lines[at][position + 1 :]
    elif kind == "remove":
        del lines[at]
    elif kind == "repeat":
        lines.insert(at, lines[at - 1])
    elif kind == "swap":
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    else:
        lines.insert(at, b'{"event":"decision","user":"eve"}')
    return lines, at


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.sample(50)
def test_changes_of_lines_are_noticed(path, seed):
    if not path.exists():
        open_log(path).write([record(number) for number in range(8)])
    lines, at = changed(lines_of(path), random.Random(seed))
    result = verify(lines, is_beginning=True)
    assert result.problem
    assert result.lines in {at - 1, at}


def test_alteration_of_the_last_line_is_noticed(path):
    open_log(path).write([record(number) for number in range(3)])
    lines = lines_of(path)
    lines[-1] = lines[-1].replace(b"jane", b"john")
    assert verify(lines) == (2, "it was altered")


@pytest.mark.parametrize("cut", [1, 2, 40, 150])
def test_torn_line_is_recorded_and_accepted(path, cut):
    log = open_log(path)
    log.write([record(number) for number in range(3)])
    whole = path.read_bytes()
    torn_line = whole.splitlines()[-1]
    os.truncate(path, len(whole) - cut)
    open_log(path).write([record(3)])
    lines = lines_of(path)
    assert verify(lines, is_beginning=True).problem == ""
    assert b'"event":"torn"' in lines[-2] or cut == 1
    assert parse_line(lines[-1])["number"] == 3
    # another line in the place of the torn one is noticed
    if cut > 1:
        lines[2] = torn_line[:-3]
        assert verify(lines).problem in ({""} if cut == 4 else {"it is no line of an audit log"})


def test_torn_first_line_is_recorded(path):
    path.write_bytes(b'{"time":"2026')
    open_log(path).write([record(1)])
    assert verify(lines_of(path), is_beginning=True) == (3, "")


def test_lines_longer_than_a_block_are_continued(path):
    long = {"resource": "x" * 200_000}
    for _ in range(3):
        open_log(path).write([long])
    assert verify(lines_of(path), is_beginning=True) == (3, "")


def test_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Invalid, match=r"audit\.file: .*cannot be written"):
        open_log(tmp_path / "file" / "audit.log")
