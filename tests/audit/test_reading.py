"""Pages of an audit log, the newest records first."""

from __future__ import annotations

import pytest

from anabranch.audit import reading
from anabranch.audit.file import AuditFile
from anabranch.audit.filter import RecordFilter
from anabranch.audit.reading import read_records
from anabranch.errors import Invalid

ANY = RecordFilter()


def record(number, **fields):
    time = f"2026-11-{1 + number // 100:02}T00:00:{number % 60:02}.000Z"
    return {"time": time, "event": "decision", "user": "ada", "number": number, **fields}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.log"


def write(path, numbers, max_bytes=1 << 20, **fields):
    file = AuditFile(path, max_bytes=max_bytes, keep_files=100)
    for number in numbers:
        file.write([record(number, **fields)])


def pages(path, wanted=ANY, amount=7):
    before, numbers = "", []
    while True:
        page = read_records(path, wanted, before=before, amount=amount)
        numbers += [each["number"] for each in page.records]
        assert len(page.records) <= amount
        if not page.next_position:
            return numbers
        before = page.next_position


@pytest.mark.parametrize("max_bytes", [1 << 20, 2000, 1])
@pytest.mark.parametrize("block", [1 << 18, 100, 7])
@pytest.mark.sample(3)
def test_pages_hold_every_record_once_and_newest_first(path, monkeypatch, max_bytes, block):
    monkeypatch.setattr(reading, "_BLOCK", block)
    write(path, range(40), max_bytes)
    assert pages(path) == list(range(39, -1, -1))


def test_records_that_are_added_and_rotated_meanwhile_disturb_no_page(path):
    write(path, range(20), 2000)
    first = read_records(path, RecordFilter(), amount=5)
    write(path, range(20, 60), 2000)
    second = read_records(path, RecordFilter(), before=first.next_position, amount=100)
    assert [each["number"] for each in second.records] == list(range(14, -1, -1))


def test_a_filter_selects_records(path):
    write(path, range(10))
    write(path, range(10, 20), user="eve", allowed=False)
    assert pages(path, RecordFilter(user="eve")) == list(range(19, 9, -1))
    assert pages(path, RecordFilter(denied=True), amount=3) == list(range(19, 9, -1))
    assert pages(path, RecordFilter(until="2026-11-01T00:00:05.000Z")) == [4, 3, 2, 1, 0]


def test_reading_ends_at_the_earliest_time(path, monkeypatch):
    write(path, range(300))
    monkeypatch.setattr(reading, "_MAX_SCANNED", 150)
    page = read_records(path, RecordFilter(since="2026-11-03"), amount=1000)
    assert [each["number"] for each in page.records] == list(range(299, 199, -1))
    assert page.next_position == ""


def test_a_page_ends_after_many_lines_that_do_not_match(path, monkeypatch):
    write(path, range(50))
    monkeypatch.setattr(reading, "_MAX_SCANNED", 20)
    page = read_records(path, RecordFilter(user="nobody"), amount=10)
    assert page.records == []
    assert page.next_position
    assert pages(path, RecordFilter(user="nobody")) == []


def test_torn_lines_are_left_out(path):
    write(path, range(3))
    with path.open("ab") as file:
        file.write(b'{"time": "2026')
    assert pages(path) == [2, 1, 0]
    write(path, [3])
    assert [
        each.get("number") for each in read_records(path, RecordFilter(), amount=9).records
    ] == [
        3,
        None,
        2,
        1,
        0,
    ]


@pytest.mark.parametrize("before", ["x", "0123456789abcdef-10", "-", "-5"])
def test_an_unknown_position_is_refused(path, before):
    write(path, range(3))
    with pytest.raises(Invalid):
        read_records(path, RecordFilter(), before=before, amount=5)


def test_a_position_beyond_the_file_is_refused(path):
    write(path, range(9))
    page = read_records(path, RecordFilter(), amount=5)
    name = page.next_position.partition("-")[0]
    with pytest.raises(Invalid):
        read_records(path, RecordFilter(), before=f"{name}-99999999", amount=5)


def test_an_empty_log_has_no_records(path):
    AuditFile(path, max_bytes=100, keep_files=1)
    assert pages(path) == []
