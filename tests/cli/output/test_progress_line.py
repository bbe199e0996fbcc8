"""The line of progress of a terminal."""

from __future__ import annotations

import io

import pytest

from anabranch.cli.output.progress_line import ProgressLine, bar, duration, remaining
from anabranch.cli.output.streams import Output
from anabranch.cli.output.transfer_progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (7.9, "0:07"), (754, "12:34"), (3753, "1:02:33")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_bar_is_filled_by_share_and_never_beyond():
    assert bar(0, 0) == bar(0, 10) == f"[{'.' * 30}]"
    assert bar(5, 10) == f"[{'#' * 15}{'.' * 15}]"
    assert bar(11, 10) == f"[{'#' * 30}]"


def test_remaining_time_needs_a_total_and_a_beginning():
    assert remaining(0, 10, 3) == remaining(3, 0, 3) == ""
    assert remaining(25, 100, 10) == "0:30 left"
    assert remaining(101, 100, 10) == "0:00 left"


def test_line_is_drawn_ten_times_a_second_at_most_and_removed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    now, stream = 0.0, io.StringIO()
    with ProgressLine(
        stream, lambda seconds: f"at {seconds:.2f} of many", clock=lambda: now
    ) as line:
        for now in (0.0, 0.05, 0.09, 0.2):  # noqa: B007  the clock reads it
            line.changed()
    drawn = stream.getvalue().split("\r\x1b[2K")
    assert drawn == ["", "at 0.00 of ", "at 0.20 of ", ""]


def test_transfer_shows_bytes_rate_and_name_without_control_characters():
    out = Output(Terminal(), Terminal(), colour=False)
    with progress(out, "up\x1b[2Jload") as shown:
        shown.expect(2048)
        shown.advance(1024)
    assert "0 B of 2.0 KiB" in out.err.getvalue()
    assert "\\x1b[2Jload" in out.err.getvalue()


def test_transfers_in_a_pipe_show_nothing():
    out = Output(io.StringIO(), io.StringIO())
    with progress(out, "upload") as shown:
        shown.expect(1)
        shown.advance(1)
    assert out.err.getvalue() == ""
