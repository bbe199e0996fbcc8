"""The file system: repositories, their references, and the objects at these.

A commit and a tag are read through a snapshot: look-ups and listings send no request, and stay as
they are. A branch is read and written as it is now.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import IO, Any

from fsspec.spec import AbstractFileSystem

import anabranch
from anabranch.errors import Invalid, NotFound
from anabranch.fsspec.bulk_reads import ByteRange, contents, ranges, slice_bounds
from anabranch.fsspec.infos import Info, add_file, file_info, folder_info, item_info
from anabranch.fsspec.locations import Location, locate
from anabranch.fsspec.os_errors import os_errors
from anabranch.fsspec.transaction import CommitTransaction
from anabranch.fsspec.views import BranchView, SnapshotView, View
from anabranch.fsspec.written_files import DeferredFile
from anabranch.lake.any_lake import AnyLake
from anabranch.lake.object_file import ObjectFile
from anabranch.lake.object_writer import ObjectWriter, TextObjectWriter
from anabranch.lake.paging import all_items
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.model.objects.stat import Stat

__all__ = ["AnabranchFileSystem"]

_COMMIT_ID_LENGTH = 64
_MAX_DELETE = 1000
_PAGE = 1000


class AnabranchFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files of a lake: on a `server`, with the arguments of `anabranch.connect`, or in a
    `folder`, with `committer`. With `pin`, each branch is read as it was when the file system
    first read it, through a snapshot; `invalidate_cache` looks again.

    Folders are what paths have in common: none is empty. Errors are OSErrors where there is one for
    them, else AnabranchError.
    """

    protocol = ("anabranch", "lakefs")
    transaction_type = CommitTransaction

    def __init__(
        self,
        server: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        pin: bool = False,
        committer: str | None = None,
        **options: Any,
    ) -> None:
        own = {"use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache"}
        super().__init__(**{name: options.pop(name) for name in own & options.keys()})
        options.pop("asynchronous", None)
        self._pin = pin
        self._open_lake: Callable[[], AnyLake]
        if folder is None:
            self._open_lake = partial(anabranch.connect, server, **options)
        else:
            self._open_lake = partial(anabranch.open, folder, committer=committer, **options)
        self._lakes: dict[int, AnyLake] = {}
        self._views: dict[tuple[str, str], View] = {}
        self._fixed: dict[tuple[str, str], bool] = {}

    @property
    def lake(self) -> AnyLake:
        """The lake; a forked process has one of its own."""
        lake = self._lakes.get(os.getpid())
        if lake is None:
            self._lakes[os.getpid()] = lake = self._open_lake()
        return lake

    @property
    def fsid(self) -> str:
        """The scheme and the server."""
        return f"anabranch-{self._fs_token}"

    def snapshot(self, path: str) -> Snapshot:
        """Returns a snapshot of the commit that the reference of a path names now."""
        where = locate(self._strip_protocol(path))
        with os_errors(where.root):
            return self.lake.snapshot(where.repository, where.reference)

    def invalidate_cache(self, path: str | None = None) -> None:
        """Looks again which references are tags, and with `pin` what they name."""
        super().invalidate_cache(path)
        self._views.clear()
        self._fixed.clear()

    # --- listings ----------------------------------------------------------------------------

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Returns what is in a folder, or the file at a path."""
        path = self._strip_protocol(path)
        where = locate(path)
        with os_errors(path):
            if not where.repository:
                found = [folder_info(each.id) for each in self._all_repositories()]
            elif not where.reference:
                names = self._references(where.repository)
                found = [folder_info(f"{where.repository}/{name}") for name in names]
            else:
                found = self._children(where)
        return found if detail else [each["name"] for each in found]

    def info(self, path: str, **_: Any) -> Info:
        """Returns the properties of a file or a folder. Raises FileNotFoundError."""
        path = self._strip_protocol(path)
        where = locate(path)
        with os_errors(path):
            if not where.repository:
                return folder_info(path)
            if not where.reference:
                return folder_info(self.lake.repositories.get(where.repository).id)
            view = self._view(where)
            if where.path:
                try:
                    return file_info(where, view.stat(where.path))
                except (NotFound, Invalid) as error:
                    if error.kind not in {"object_not_found", "invalid_path"}:
                        raise
            first = next(view.items(where.folder), None)
        if first is None and where.path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return folder_info(path)

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **options: Any,
    ) -> Any:
        """Returns the files below a path, in one listing, and the folders if `withdirs`."""
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        path = self._strip_protocol(path)
        where = locate(path)
        if not where.reference:
            return super().find(path, maxdepth, withdirs, detail, **options)
        found: dict[str, Info] = {}
        with os_errors(path):
            try:
                for item in self._view(where).items(where.folder):
                    if isinstance(item, Stat):
                        add_file(found, where, item, maxdepth, withdirs=withdirs)
            except NotFound:
                return {} if detail else []
        if not found and where.path and self.isfile(path):
            found[path] = self.info(path)
        elif found and withdirs:
            found.setdefault(path, folder_info(path))
        return {name: found[name] for name in sorted(found)} if detail else sorted(found)

    def created(self, path: str) -> datetime:
        """Returns when a file was stored."""
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        """Returns when a file was stored: a file never changes."""
        mtime = self.info(path).get("mtime")
        if mtime is None:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return datetime.fromtimestamp(mtime, UTC)

    def ukey(self, path: str) -> str:
        """Returns a text that another content of the file does not have."""
        found = self.info(path)
        return f"{found['name']}-{found.get('checksum')}-{found['size']}-{found.get('mtime')}"

    # --- reads -------------------------------------------------------------------------------

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """Returns the bytes of a file, or of a slice of it."""
        opened: ObjectFile = self.open(path, "rb")
        with os_errors(path):
            return opened.read_bytes(*slice_bounds(opened.byte_count, start, end))

    def cat(
        self,
        path: str | list[str],
        recursive: bool = False,
        on_error: str = "raise",
        **options: Any,
    ) -> Any:
        """Returns the bytes of a file, or a dictionary of those of several, which are read many at
        a time.
        """
        paths = named = self.expand_path(path)
        if recursive and not (paths := [file for each in named for file in self.find(each)]):
            self.info(named[0])  # raises FileNotFoundError
        if len(paths) == 1 and isinstance(path, str) and paths[0] == self._strip_protocol(path):
            return self.cat_file(paths[0], **options)
        found = contents(self._view, paths)
        return {name: content for name, content in found.items() if _is_shown(content, on_error)}

    def cat_ranges(
        self,
        paths: list[str],
        starts: int | list[int | None] | None,
        ends: int | list[int | None] | None,
        max_gap: int | None = None,  # noqa: ARG002  parts of small files are read together anyway
        on_error: str = "return",
        **_: Any,
    ) -> list[Any]:
        """Returns parts of files, in order; small files are read whole, many at a time."""
        if not isinstance(paths, list):
            raise TypeError("paths must be a list")
        begins = starts if isinstance(starts, list) else [starts] * len(paths)
        stops = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(begins) == len(stops) == len(paths):
            raise ValueError("paths, starts and ends have different lengths")
        names = [self._strip_protocol(path) for path in paths]
        parts = [ByteRange(*part) for part in zip(names, begins, stops, strict=True)]
        found = ranges(self._view, parts)
        for content in found:
            _is_shown(content, on_error)
        return found

    def get_file(self, rpath: str, lpath: Any, **options: Any) -> None:
        """Downloads a file."""
        rpath = self._strip_protocol(rpath)
        super().get_file(rpath, lpath, **options)

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        """Returns a file for reading or writing. One that is written is stored when it is closed,
        and not at all if the block that writes it fails.
        """
        if "b" in mode or "r" in mode or options.get("compression"):
            return super().open(path, mode, **options)
        text = {name: options.pop(name, None) for name in ("encoding", "newline", "errors")}
        file = super().open(path, mode.replace("t", "") + "b", **options)
        return TextObjectWriter(file, encoding=text["encoding"] or "utf-8", newline=text["newline"])

    # --- changes -----------------------------------------------------------------------------

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Does nothing: folders are there as soon as they have files."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Does nothing, likewise."""

    def rmdir(self, path: str) -> None:
        """Does nothing for an empty folder: there is none. Raises OSError for one with files."""
        if self.isdir(path) and self.ls(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    def rm_file(self, path: str) -> None:
        """Deletes a file of a branch. Raises FileNotFoundError."""
        self.info(path)
        self._delete([self._strip_protocol(path)])

    def rm(
        self,
        path: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
    ) -> None:
        """Deletes files and, if `recursive`, all in folders, up to 1,000 by one request."""
        names = self.expand_path(path, recursive=recursive, maxdepth=maxdepth)
        folders = [each for each in names if self.isdir(each)]
        if folders and not recursive:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), folders[0])
        self._delete([each for each in names if each not in folders])

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copies a file to a branch; the server copies its bytes, or shares them."""
        source, target = (locate(self._strip_protocol(path)) for path in (path1, path2))
        if self.isdir(path1):
            return
        self._require_branch(target)
        with os_errors(path1):
            self.lake.objects.copy(
                *(target.repository, target.reference, target.path),
                source_path=source.path,
                source_ref=source.reference,
                source_repository=source.repository,
            )

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Stores a file; with the mode `create`, only if there is none."""
        with self.open(path, "xb" if mode == "create" else "wb", **options) as file:
            file.write(value)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,  # noqa: ARG002  ranges are chosen by what is read
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,  # noqa: ARG002
        **_: Any,
    ) -> IO[bytes] | ObjectWriter | DeferredFile:
        where = locate(path)
        with os_errors(path):
            if not where.path:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if mode == "rb":
                return self._view(where).open(where.path)
            if mode not in {"wb", "xb"}:
                raise ValueError(f"mode {mode!r}: files are read, or written anew ('w', 'x')")
            self._require_branch(where)
            is_new = mode == "xb"
            if is_new and self.exists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            if not autocommit:
                return DeferredFile(where, if_absent=is_new)
            return ObjectWriter(partial(self._store, where, if_absent=is_new))

    def _store(self, where: Location, chunks: Any, *, if_absent: bool) -> None:
        with os_errors(where.root + where.path):
            self.lake.objects.upload(*where, chunks, if_absent=if_absent)

    def _delete(self, paths: Sequence[str]) -> None:
        by_branch: dict[tuple[str, str], list[str]] = {}
        for path in paths:
            where = locate(path)
            self._require_branch(where)
            by_branch.setdefault(where[:2], []).append(where.path)
        for place, inside in by_branch.items():
            for begin in range(0, len(inside), _MAX_DELETE):
                some = inside[begin : begin + _MAX_DELETE]
                with os_errors("/".join(place)):
                    for _, error in self.lake.objects.delete_many(*place, some):
                        raise error

    # --- references --------------------------------------------------------------------------

    def _view(self, where: Location) -> View:
        """Returns the objects at the reference of a path: a commit's and a tag's by a snapshot."""
        place = where[:2]
        view = self._views.get(place)
        if view is None:
            if self._pin or self._is_fixed(where):
                view = SnapshotView(self.lake.snapshot(*place))
            else:
                view = BranchView(self.lake.repository(where.repository).ref(where.reference))
            self._views[place] = view
        return view

    def _is_fixed(self, where: Location) -> bool:
        """Returns whether a reference is a commit's id or a tag."""
        place = where[:2]
        if place not in self._fixed:
            self._fixed[place] = _is_commit_id(where.reference) or self._is_tag(where)
        return self._fixed[place]

    def _is_tag(self, where: Location) -> bool:
        try:
            self.lake.tags.get(where.repository, where.reference)
        except (NotFound, Invalid) as error:
            if error.kind == "repository_not_found":
                raise
            return False
        return True

    def _require_branch(self, where: Location) -> None:
        if self._is_fixed(where):
            raise OSError(errno.EROFS, "a commit or a tag cannot be changed", where.root)

    def _all_repositories(self) -> Iterator[Any]:
        return all_items(lambda after: self.lake.repositories.list(after=after, amount=_PAGE))

    def _references(self, repository: str) -> list[str]:
        handle = self.lake.repository(repository)
        return [each.name for each in (*handle.branches(), *handle.tags())]

    def _children(self, where: Location) -> list[Info]:
        view = self._view(where)
        items = view.items(where.folder, "/")
        found = [item_info(where, item) for item in items if item.path != where.folder]
        if found or not where.path:
            return found
        return [self.info(where.root + where.path)]


def _is_commit_id(name: str) -> bool:
    return len(name) == _COMMIT_ID_LENGTH and not set(name) - set("0123456789abcdef")


def _is_shown(content: Any, on_error: str) -> bool:
    """Returns whether a result has a place in the answer. Raises an error that is to be raised."""
    if not isinstance(content, Exception):
        return True
    if on_error == "raise":
        raise content
    return on_error == "return"
