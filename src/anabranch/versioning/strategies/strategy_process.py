"""The process of a user-defined strategy: see `user_defined`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, BinaryIO, cast

from anabranch.child_process.parent import Parent
from anabranch.errors import AnabranchError
from anabranch.versioning.strategies.contract import Side, StrategyFactory

__all__ = ["main"]

_GROUP = "anabranch.merge_strategies"


class _Version:
    """`ObjectVersion`, read by calls."""

    def __init__(self, parent: Parent, side: Side, path: str, about: Mapping[str, Any]) -> None:
        self._parent = parent
        self._place = {"side": side, "path": path}
        self.size: int = about["size"]
        self.content_type: str = about["content_type"]
        self.metadata: Mapping[str, str] = about["metadata"]

    def open(self) -> BinaryIO:
        return Path(self.path()).open("rb")

    def path(self) -> str:
        return cast(str, self._parent.call("file", **self._place))


class _Conflict:
    """`PathConflict`, read by calls."""

    def __init__(self, parent: Parent, request: Mapping[str, Any]) -> None:
        self._parent = parent
        self.path: str = request["path"]
        self.repository: str = request["repository"]
        self.commits: Mapping[Side, str] = request["commits"]
        self.work_folder: str = request["work_folder"]
        self.base = self.read("base", self.path)
        self.source = self.read("source", self.path)
        self.destination = self.read("destination", self.path)

    def read(self, side: Side, path: str) -> _Version | None:
        about = self._parent.call("read", side=side, path=path)
        return None if about is None else _Version(self._parent, side, path, about)

    def list(self, side: Side, prefix: str) -> Iterator[str]:
        yield from self._parent.call("list", side=side, prefix=prefix)


class _Output:
    """`MergeOutput`, performed by calls."""

    def __init__(self, parent: Parent, work_folder: str) -> None:
        self._parent = parent
        self._folder = work_folder

    @contextmanager
    def create(
        self,
        path: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Iterator[BinaryIO]:
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
            yield cast(BinaryIO, stream)
        given = {"content_type": content_type, "metadata": metadata}
        self._parent.call("create", path=path, file=stream.name, **given)

    def take(self, path: str, side: Side) -> None:
        self._parent.call("take", path=path, side=side)

    def delete(self, path: str) -> None:
        self._parent.call("delete", path=path)


def main() -> None:
    """Answers one request, and ends."""
    parent = Parent()
    request, _ = parent.receive()
    try:
        (point,) = entry_points(group=_GROUP, name=request["name"])
        factory: StrategyFactory = point.load()
        strategy = factory(request["options"])
        conflict = _Conflict(parent, request)
        output = _Output(parent, request["work_folder"])
        conflicts = list(strategy.merge(conflict, output))
        parent.send({"conflicts": conflicts})
    except AnabranchError as error:
        parent.send({"error": error.message})
    except Exception as error:  # noqa: BLE001  whatever it is, it is the reason
        parent.send({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
