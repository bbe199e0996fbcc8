"""The lake and the output of a hook in a process of its own: calls of the one that started it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO, cast

from anabranch.actions.hooks.output import HookOutput
from anabranch.child_process.parent import Parent
from anabranch.converter import Converter
from anabranch.files.ranged_stream import open_ranges
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import Page

__all__ = ["RemoteLake", "SentOutput"]

_TO_COMMIT = Converter(Commit)

_TO_CHANGES = Converter(Page[Change])

_TO_STAT = Converter(Stat)

_BUFFER_BYTES = 1 << 20


class RemoteLake:
    """The methods of `HookLake`."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent

    def read(self, reference: str, path: str) -> BinaryIO:
        """Returns a seekable stream of an object's bytes; the caller closes it."""
        opened = self._parent.call("open", reference=reference, path=path)

        def read_range(start: int, length: int) -> bytes:
            place = {"stream": opened["stream"], "start": start, "length": length}
            return self._parent.call_for_bytes("read", **place)[1]

        return cast(BinaryIO, open_ranges(read_range, opened["size"], buffer_bytes=_BUFFER_BYTES))

    def stat(self, reference: str, path: str) -> Stat:
        """Returns an object's path, entry and full address."""
        return _TO_STAT.convert(self._parent.call("stat", reference=reference, path=path))

    def list(
        self, reference: str, *, prefix: str = "", after: str = "", delimiter: str = "", amount: int
    ) -> Page[Stat | CommonPrefix]:
        """Returns at most `amount` objects and common prefixes."""
        page = {"prefix": prefix, "after": after, "delimiter": delimiter, "amount": amount}
        found = self._parent.call("list", reference=reference, **page)
        items: list[Stat | CommonPrefix] = [
            _TO_STAT.convert(item) if "entry" in item else CommonPrefix(item["path"])
            for item in found["items"]
        ]
        return Page(items, found["has_more"], found["next_offset"])

    def diff(
        self, left: str, right: str, *, prefix: str = "", after: str = "", amount: int
    ) -> Page[Change]:
        """Returns at most `amount` differences of two trees."""
        page = {"prefix": prefix, "after": after, "amount": amount}
        found = self._parent.call("diff", left=left, right=right, **page)
        return _TO_CHANGES.convert(found)

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""
        return _TO_COMMIT.convert(self._parent.call("commit", reference=reference))

    def request(
        self, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Performs an operation of the REST API and returns its status and body."""
        given = {"method": method, "path": path, "query": dict(query)}
        status, data = self._parent.call_for_bytes("request", body, **given)
        return int(status), data


class SentOutput(HookOutput):
    """An output that the other process collects, limits and frees of secrets. What is certainly
    beyond the limit is not sent.
    """

    def __init__(self, parent: Parent, limit: int) -> None:
        super().__init__(limit)
        self._parent = parent
        self._rest = limit + 1

    def write(self, text: str) -> None:
        """Sends text, in messages that are not too long."""
        text = text[: self._rest]
        self._rest -= len(text)
        for start in range(0, len(text), _BUFFER_BYTES):
            self._parent.send({"output": text[start : start + _BUFFER_BYTES]})

    def flush(self) -> None:
        """Does nothing: what is written is sent."""
