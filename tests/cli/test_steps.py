"""Steps of long jobs, on a terminal and elsewhere."""

from __future__ import annotations

import io

from anabranch.cli.output import Output
from anabranch.cli.steps import Relay, steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_now_and_then():
    now = 0.0
    out = Output(io.StringIO(), io.StringIO())
    with steps(out, lambda: now) as shown:
        shown.begin("listing", 0)
        for now in (1.0, 9.0, 11.0, 12.0, 30.0):  # noqa: B007  the clock reads it
            shown.advance(5)
        shown.begin("comparing", 3)
        now = 60.0
        shown.advance(1)
    lines = ["listing", "listing: 15", "listing: 25", "comparing (3)", "comparing: 1 of 3"]
    assert out.err.getvalue().splitlines() == lines


def test_a_terminal_shows_a_bar_and_json_nothing():
    out = Output(Terminal(), Terminal(), colour=False)
    with steps(out) as shown:
        shown.begin("listing", 0)
        shown.advance(5)
        shown.begin("comparing", 3)
        shown.advance(1)
    assert "comparing" in out.err.getvalue()
    quiet = Output(io.StringIO(), io.StringIO(), json=True)
    with steps(quiet) as shown:
        shown.begin("listing", 3)
        shown.advance(1)
    assert quiet.err.getvalue() == ""


def test_a_relay_hands_on():
    relay = Relay()
    relay.begin("nobody hears it", 1)
    relay.advance(1)
    out = Output(io.StringIO(), io.StringIO())
    with steps(out) as relay.to:
        relay.begin("somebody does", 0)
        relay.advance(1)
    assert out.err.getvalue() == "somebody does\n"
