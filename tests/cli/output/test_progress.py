"""Progress of long jobs, on a terminal and elsewhere."""

from __future__ import annotations

import io

from anabranch.cli.output.progress import ProgressRelay, show_progress
from anabranch.cli.output.streams import Output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_written_every_ten_seconds():
    now = 0.0
    out = Output(io.StringIO(), io.StringIO())
    with show_progress(out, clock=lambda: now) as shown:
        shown.begin("listing", 0)
        for now in (1.0, 9.0, 11.0, 12.0, 30.0):  # noqa: B007  the clock reads it
            shown.advance(5)
        shown.begin("comparing", 3)
        now = 60.0
        shown.advance(1)
    lines = ["listing", "listing: 15", "listing: 25", "comparing (3)", "comparing: 1 of 3"]
    assert out.err.getvalue().splitlines() == lines


def test_terminal_shows_bar_and_json_writes_lines():
    out = Output(Terminal(), Terminal(), colour=False)
    with show_progress(out) as shown:
        shown.begin("listing", 0)
        shown.advance(5)
        shown.begin("comparing", 3)
        shown.advance(1)
    assert "comparing" in out.err.getvalue()
    for_programs = Output(Terminal(), Terminal(), json=True)
    with show_progress(for_programs) as shown:
        shown.begin("listing", 3)
        shown.advance(1)
    assert for_programs.err.getvalue() == "listing (3)\n"
    assert for_programs.out.getvalue() == ""
    with show_progress(for_programs, silent=True) as shown:
        shown.begin("comparing", 3)
    assert for_programs.err.getvalue() == "listing (3)\n"


def test_relay_forwards_to_its_target():
    relay = ProgressRelay()
    relay.begin("before", 1)
    relay.advance(1)
    out = Output(io.StringIO(), io.StringIO())
    with show_progress(out) as relay.target:
        relay.begin("after", 0)
        relay.advance(1)
    assert out.err.getvalue() == "after\n"
