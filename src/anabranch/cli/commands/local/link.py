"""The link of a folder to a path of a repository: `.lakefs_ref.yaml`, the file of lakectl.

Its fields are `src` (the address), `at_head` (the commit that the folder was last synchronized
with) and `active_operation` (the operation that is under way or was interrupted; some versions of
lakectl name it `operation`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import prefix_address
from anabranch.cli.output.format import printable
from anabranch.converter import Converter
from anabranch.model.uri import LakeUri

__all__ = [
    "LINK_FILE",
    "PULL",
    "Link",
    "check_complete",
    "exclusive",
    "linked_below",
    "read_link",
    "write_link",
]

LINK_FILE = ".lakefs_ref.yaml"
PULL = "pull"
"""The operation that the next one of its name completes."""


class Link(msgspec.Struct, frozen=True):
    """A folder, the address it is linked to, and the commit it was last synchronized with."""

    folder: Path
    source: LakeUri
    head: str
    interrupted: str = ""

    @property
    def prefix(self) -> str:
        """The prefix of the objects' paths, "" for the whole repository."""
        key = self.source.key
        return key if not key or key.endswith("/") else f"{key}/"


class _Written(msgspec.Struct, frozen=True):
    src: str
    at_head: Annotated[str, msgspec.Meta(min_length=1)]
    active_operation: str = ""
    operation: str = ""


_CONVERTER = Converter(_Written)


def read_link(start: Path) -> Link:
    """Returns the link of a folder, or of the next one above that has one. Raises Failure if there
    is none, or if it cannot be read.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        file = folder / LINK_FILE
        if file.is_file():
            return _parse(folder, file)
    raise Failure(
        f"{printable(str(start))} is not linked to a repository",
        kind="not_linked",
        hint="Run `anabranch local init` or `anabranch local clone` first.",
    )


def write_link(link: Link) -> None:
    """Replaces the link file of a folder; a crash leaves the old or the new one."""
    content = {
        "src": str(link.source),
        "at_head": link.head,
        "active_operation": link.interrupted,
    }
    file = link.folder / LINK_FILE
    partial = link.folder / f".anabranch-{os.urandom(8).hex()}.part"
    try:
        partial.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), "utf-8")
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def linked_below(root: Path) -> Iterator[Link]:
    """Yields the links of a folder and of those below it, in order, except for hidden folders."""
    for parent, folders, names in os.walk(root):
        if LINK_FILE in names:
            folders.clear()
            yield _parse(Path(parent), Path(parent) / LINK_FILE)
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def check_complete(link: Link) -> None:
    """Raises Failure if an operation was interrupted, after which files may be missing."""
    if link.interrupted:
        hint = "`anabranch local checkout` completes it, and discards changes of its objects."
        if link.interrupted == PULL:
            hint = f"`anabranch local pull` completes it. {hint}"
        raise Failure(
            f"`{printable(link.interrupted)}` was interrupted in {printable(str(link.folder))}: "
            "objects may be missing there",
            kind="interrupted",
            hint=hint,
        )


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Keeps other commands of `local` out of a folder. Raises Failure if one is at work."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(
                f"another command is at work in {printable(str(folder))}",
                kind="busy",
                hint="Try again when it has ended.",
            ) from None
        yield
    finally:
        os.close(descriptor)


def _parse(folder: Path, file: Path) -> Link:
    try:
        fields: Any = yaml.safe_load(file.read_text("utf-8"))
        written = _CONVERTER.convert(fields)
        address = prefix_address(written.src)
    # the library raises any of these for values that are not of their tags, as in `!!bool a`
    except (
        *(OSError, yaml.YAMLError, Usage, RecursionError),
        *(ValueError, LookupError, AttributeError),
    ) as error:
        reason = " ".join(str(error).split())
        raise Failure(
            f"{printable(str(file))} cannot be read: {printable(reason)}",
            kind="invalid_link",
            hint="Correct it, or link the folder again with `anabranch local init --force`.",
        ) from error
    return Link(folder, address, written.at_head, written.active_operation or written.operation)
