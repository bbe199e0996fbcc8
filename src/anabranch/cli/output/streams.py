"""Output of commands: results to standard output, everything else to standard error.

Each result has three formats, selected when the program starts: tables and colour on a terminal,
plain tab-separated lines in a pipe, one JSON document with `--json`. Commands pass values and do
not depend on the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, cast

from anabranch.cli.errors import Failure
from anabranch.cli.output.format import display_width, iso_time, local_time, paint, printable, size
from anabranch.cli.output.table import Column, align, separate

__all__ = ["Output"]

_SHOWN_PATHS = 100
_BOX_TO_ASCII = str.maketrans("●│─├┤┼┬╮╭╯", "*|-+++++++")


class Output:
    """Standard output and standard error of one command."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        json: bool = False,
        colour: bool | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        environment = environment or {}
        self.json = json
        self.out = out
        self.err = err
        self.terminal = out.isatty() and not json
        self.err_terminal = err.isatty()
        wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self.colour = self.terminal and wanted if colour is None else colour
        self.err_colour = self.err_terminal and wanted if colour is None else colour
        self._environment = environment
        self._is_paged = False
        self._warnings: set[str] = set()

    @contextmanager
    def paged(self) -> Iterator[None]:
        """Within it, what is longer than the terminal is shown by a pager."""
        if not self.terminal or self._is_paged:
            yield
            return
        from anabranch.cli.output.pager import paging  # noqa: PLC0415  for people alone

        out = self.out
        with paging(out, self._environment) as text:
            try:
                if text is not None:
                    self.out, self._is_paged = cast("TextIO", text), True
                yield
            finally:
                self.out, self._is_paged = out, False

    def rows(
        self,
        columns: Sequence[Column],
        items: Iterable[Any],
        cells: Callable[[Any], Sequence[Any]],
    ) -> None:
        """Prints items as a table, each by its `cells`, or as a JSON array of the items."""
        if self.json:
            self._array(items)
            return
        rows = (cells(item) for item in items)
        if self.terminal:
            lines = align(columns, rows, colour=self.colour)
        else:
            lines = separate(columns, rows)
        with self.paged():
            for line in lines:
                self._print(line)

    def details(self, pairs: Sequence[tuple[str, Any, str]], item: Any) -> None:
        """Prints one item as `name: value` lines, or as a JSON object. A pair is a name, its value
        and the kind of the value, as in a table's column.
        """
        if self.json:
            self.document(item)
            return
        width = max(display_width(name) for name, _, _ in pairs) + 1
        for name, value, kind in pairs:
            label = paint(f"{name}:".ljust(width), "dim", colour=self.colour)
            self._print(f"{label} {self._detail(value, kind)}".rstrip())

    def done(self, sentence: str, item: Any = None) -> None:
        """Prints a message about what was done, or the JSON of its result."""
        if self.json:
            self.document({} if item is None else item)
        else:
            self._print(sentence)

    def document(self, item: Any) -> None:
        """Prints one JSON document."""
        self._print(_encode(item))

    def line(self, text: str = "") -> None:
        """Prints a line unchanged; names in it must be printable already."""
        if "utf" not in (getattr(self.out, "encoding", None) or "utf").lower():
            text = text.translate(_BOX_TO_ASCII)
        self._print(text)

    def page(self, text: str) -> None:
        """Prints text of several lines, by a pager if it is longer than the terminal."""
        with self.paged():
            self.line(text)

    def paint(self, text: str, style: str) -> str:
        """Returns text in a style, if standard output shows colours."""
        return paint(text, style, colour=self.colour)

    def note(self, text: str) -> None:
        """Prints a note to standard error."""
        print(text, file=self.err, flush=True)

    def warn(self, warnings: Iterable[str]) -> None:
        """Prints warnings to standard error, each once."""
        for warning in warnings:
            if warning not in self._warnings:
                self._warnings.add(warning)
                self.note(warning)

    def more(self, next_offset: str) -> None:
        """Prints a note that a listing continues, and how to see the rest."""
        if next_offset and not self.json:
            self.note(f"There is more: add --after {printable(next_offset)!r}")

    def error(self, failure: Failure) -> None:
        """Prints an error, its location and its hint to standard error."""
        if self.json:
            self.note(_encode({"error": _as_json(failure)}))
            return
        word = paint("error:", "error", colour=self.err_colour)
        # each line is made printable by itself: a server's message may have several
        message = "\n       ".join(printable(text) for text in failure.message.splitlines())
        self.note(f"{word} {message}")
        for path in failure.paths[:_SHOWN_PATHS]:
            self.note(f"         {paint(printable(path), 'conflict', colour=self.err_colour)}")
        hidden = max(len(failure.paths) - _SHOWN_PATHS, 0)
        if failure.paths and failure.has_more_paths:
            self.note(
                f"         and more than {hidden} others" if hidden else "         and others"
            )
        elif hidden:
            self.note(f"         and {hidden} more")
        if failure.where:
            self.note(f"{paint('where:', 'dim', colour=self.err_colour)} {failure.where}")
        if failure.hint:
            self.note(f"{paint('hint:', 'hint', colour=self.err_colour)}  {failure.hint}")

    def _detail(self, value: Any, kind: str) -> str:
        if value is None:
            return ""
        if kind == "time":
            return local_time(value) if self.terminal else iso_time(value)
        if kind == "size":
            return f"{size(value)} ({value} bytes)" if self.terminal else str(value)
        return self.paint(printable(str(value)), kind)

    def _array(self, items: Iterable[Any]) -> None:
        opening = "["
        for item in items:
            self._print(f"{opening}{_encode(item)}", end="")
            opening = ",\n "
        self._print("]" if opening != "[" else "[]")

    def _print(self, text: str, end: str = "\n") -> None:
        self.out.write(text + end)


def _encode(item: Any) -> str:
    import json  # noqa: PLC0415  not needed by people

    return (
        json.dumps(item, ensure_ascii=False, sort_keys=True)
        .encode("utf-8", "backslashreplace")
        .decode()
    )


def _as_json(failure: Failure) -> dict[str, Any]:
    fields = {
        "kind": failure.kind,
        "message": failure.message,
        "where": failure.where,
        "hint": failure.hint,
        "status": failure.status,
        "paths": list(failure.paths),
        "has_more_paths": failure.has_more_paths,
    }
    return {name: value for name, value in fields.items() if value}
