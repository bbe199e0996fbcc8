"""Tables of metadata: trees whose ranges are damaged, and files that snapshots download.

An input is the bytes of one table of a small tree. Reads of the tree, differences and merges then
give what the whole tree gives, or name the damaged file. A downloaded file is kept only if it has
the content that its name says.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.target import Target

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.remote.snapshots.cache_settings import CacheSettings
from anabranch.remote.snapshots.table_files import TableFiles
from anabranch.testing.tree_strategies import KEYS, value

__all__ = ["TARGETS"]


class _Trees(NamedTuple):
    """The tables of three trees by their ids, the ids of the trees, and what they answer."""

    tables: dict[str, bytes]
    tree: str
    changed: str
    base: str


def _answers(trees: list[kernel.Tree], folder: str) -> Iterator[Callable[[], Any]]:
    tree, changed, base = trees
    yield lambda: [tree.get(key) for key in KEYS[::7]]
    yield lambda: tree.get_many(KEYS)
    yield lambda: _listed(tree)
    yield lambda: _listed(tree, prefix=b"b/", delimiter=b"/")
    yield lambda: _rows(tree.diff(changed, amount=1000))
    yield lambda: _rows(changed.diff(tree, amount=1000))
    yield lambda: _rows(changed.compare(tree, base, amount=1000))
    yield lambda: _merged(changed.merge(tree, base, folder, strategy="source-wins"))


def _listed(tree: kernel.Tree, **options: bytes) -> list[Any]:
    listing = tree.listing(amount=1000, **options)
    listing.feed([], last=True)
    return listing.rows()


def _rows(page: kernel.DiffPage) -> list[Any]:
    return page.rows


def _merged(merged: kernel.Merged) -> Any:
    return merged.written and (merged.written.metarange_id, merged.written.count)


@cache
def _trees() -> _Trees:
    with tempfile.TemporaryDirectory() as folder:
        tree, changed, base = (
            kernel.write_tree([(key, value(key, version)) for key in keys], folder).metarange_id
            for version, keys in ((0, KEYS), (1, KEYS[::2]), (0, KEYS[::3]))
        )
        tables = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        return _Trees(tables, tree, changed, base)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with all tables, in which one is damaged at a time."""
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    for name, content in _trees().tables.items():
        Path(folder.name, name).write_bytes(content)
    return folder


@cache
def _right_answers() -> list[Any]:
    return [answer() for answer in _answers(_opened(kernel.Tables(64)), _scratch())]


@cache
def _own_scratch() -> tempfile.TemporaryDirectory[str]:
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def _scratch() -> str:
    return _own_scratch().name


def _opened(tables: kernel.Tables) -> list[kernel.Tree]:
    names, folder = _trees(), _folder().name
    return [
        tables.tree(name, lambda table_id: f"{folder}/{table_id}")
        for name in (names.tree, names.changed, names.base)
    ]


def check_tree(data: bytes) -> None:
    """The input takes the place of the table that it is likest to."""
    right = _right_answers()
    name = _likest(data)
    path = Path(_folder().name, name)
    sound = _trees().tables[name]
    if data == sound:
        return
    path.unlink()  # another process may have mapped it
    path.write_bytes(data)
    try:
        with _damage_named(name):
            trees = _opened(kernel.Tables(64))
            for answer, expected in zip(_answers(trees, _scratch()), right, strict=True):
                found = expected
                with _damage_named(name):
                    found = answer()
                assert found == expected, f"a wrong answer from a damaged {name}"
    finally:
        path.unlink()
        path.write_bytes(sound)


@contextmanager
def _damage_named(name: str) -> Iterator[None]:
    """Passes over the errors that a damaged table may lead to."""
    try:
        yield
    except kernel.CorruptTable as error:
        if Path(error.path).name != name:
            raise
    except kernel.MissingTable:  # a damaged metarange may name others
        if name not in _metaranges():
            raise


def _metaranges() -> set[str]:
    trees = _trees()
    return {trees.tree, trees.changed, trees.base}


def _likest(data: bytes) -> str:
    tables = _trees().tables
    return max(sorted(tables), key=lambda name: _alikeness(tables[name], data))


def _alikeness(one: bytes, other: bytes) -> int:
    ends = sum(a == b for a, b in zip(one[::-17], other[::-17], strict=False))
    return ends + sum(a == b for a, b in zip(one[::17], other[::17], strict=False))


def check_download(data: bytes) -> None:
    name = _likest(data)
    folder = tempfile.mkdtemp(dir=_scratch())
    files = TableFiles(CacheSettings(folder))
    middle = len(data) // 2
    try:
        path = files.locate(name, lambda _: [data[:middle], data[middle:]])
    except Corrupt:
        if data == _trees().tables[name] or files.find(name) is not None:
            raise
    else:
        kept = Path(path).read_bytes()
        assert kept == data
        assert kernel.verify_table(path) == name
    finally:
        shutil.rmtree(folder)


def _seeds() -> list[bytes]:
    """Some ranges, and all metaranges."""
    trees = _trees()
    ranges = sorted(set(trees.tables) - _metaranges())
    return [trees.tables[name] for name in (*sorted(_metaranges()), *ranges[::4])]


TARGETS = (
    Target("tree", check_tree, _seeds),
    Target("table_download", check_download, _seeds),
)
