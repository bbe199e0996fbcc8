"""What is longer than the terminal goes to a pager."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
import threading

import pytest

from anabranch.cli.errors import Failure
from anabranch.cli.output.pager import pager_command
from anabranch.cli.output.streams import Output
from anabranch.cli.output.table import Column

pytestmark = pytest.mark.usefixtures("home")

LINES, COLUMNS = 10, 40
TABLE = (Column("NAME", "name"),)


class Terminal:
    """A terminal of 10 lines, and what is on it."""

    def __init__(self):
        self.main, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.out = os.fdopen(follower, "w", encoding="utf-8")
        self.shown = b""
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        try:
            while data := os.read(self.main, 4096):
                self.shown += data
        except OSError:  # the other side is closed
            pass

    def text(self):
        self.out.close()
        self.thread.join()
        os.close(self.main)
        return self.shown.decode().replace("\r\n", "\n")


@pytest.fixture
def show(tmp_path):
    """Prints as a command does; returns what is on the terminal, and what the pager has got."""

    def run(use, pager="cat > {}", **options):
        terminal, got = Terminal(), tmp_path / "got"
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm"}
        if pager is not None:
            environment["PAGER"] = f"sh -c '{pager.format(got)}'" if pager else ""
        output = Output(
            terminal.out, io.StringIO(), colour=False, environment=environment, **options
        )
        try:
            use(output)
        finally:
            text = terminal.text()
        return text, got.read_text() if got.exists() else None

    return run


def rows(count, fail=False):
    def items():
        yield from (f"row {number}" for number in range(count))
        if fail:
            raise Failure("the connection broke")

    return lambda output: output.rows(TABLE, items(), lambda item: [item])


def expected(count):
    return "".join(f"{line}\n" for line in ("NAME", *(f"row {n}" for n in range(count))))


def test_what_fits_stays_on_the_terminal(show):
    assert show(rows(8)) == (expected(8), None)
    assert show(rows(0)) == ("", None)


@pytest.mark.parametrize("count", [9, 5000])
def test_what_is_longer_goes_to_the_pager(show, count):
    assert show(rows(count)) == ("", expected(count))


def test_lines_that_are_wider_than_the_terminal_count_more(show):
    wide = "x" * COLUMNS * 12
    assert show(lambda output: output.page(wide)) == ("", f"{wide}\n")


def test_without_a_pager_all_is_printed(show, monkeypatch):
    assert show(rows(100), "") == (expected(100), None)
    monkeypatch.setenv("PATH", "")
    assert show(rows(100), None) == (expected(100), None)


def test_a_reader_who_has_seen_enough(show):
    begun = []

    def items():
        for number in range(1_000_000):
            begun.append(number)
            yield number

    text, _ = show(lambda o: o.rows(TABLE, items(), lambda n: [f"row {n}"]), "head -n 2")
    assert text == "NAME\nrow 0\n"
    assert len(begun) < 1_000_000, "nothing more was fetched"


@pytest.mark.parametrize(("count", "paged"), [(3, False), (5000, True)])
def test_an_error_in_the_middle_comes_after_what_was_there(show, tmp_path, count, paged):
    with pytest.raises(Failure, match="broke"):
        show(rows(count, fail=True))
    assert (tmp_path / "got").exists() == paged
    if paged:
        assert (tmp_path / "got").read_text().startswith(expected(100))


def test_json_is_never_paged(show):
    text, got = show(rows(100), json=True)
    assert text.count("\n") == 100
    assert got is None


def test_help_is_paged(show):
    text = "\n".join(f"line {number}" for number in range(40))
    assert show(lambda output: output.page(text)) == ("", f"{text}\n")


def test_the_program():
    path = {"PATH": os.environ["PATH"]}
    assert pager_command({**path, "PAGER": "sort -r"})[1:] == ["-r"]
    for value in ("", "cat", "no-such-program", "'"):
        assert pager_command({**path, "PAGER": value}) == []
    assert pager_command({**path, "PAGER": "sort", "TERM": "dumb"}) == []
