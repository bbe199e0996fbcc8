"""The action files at a reference, read from a repository.

Each change of a repository asks for them, and most repositories have none, so what cannot change is
cached: the files of a tree, and what a file declares. Only staged files are looked for each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from anabranch.actions.files.action import Action
from anabranch.actions.files.action_file import (
    FOLDER,
    CheckHook,
    parse_action_file,
    require_distinct_names,
)
from anabranch.actions.files.yaml_document import MAX_BYTES
from anabranch.blocks.contract import BlockStore
from anabranch.brevity import about_to_take_long
from anabranch.errors import Gone, Invalid
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import AddressType, Entry, physical_address
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.references.references import Resolved

__all__ = ["StoredActionFiles"]

_MAX_FILES = 1000
_CACHED_TREES = 4096
_CACHED_FILES = 1024
_START = encode_path(FOLDER)
_END = upper_bound(_START)

_Files = Sequence[tuple[str, Entry]]
T = TypeVar("T")


class _Cache(Generic[T]):
    """The most recently used values."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns the cached value, or what `make` returns."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value


class Look(NamedTuple):
    """Whether there are action files, and whether a branch is known to have changes in its active
    staging area; False if that was not seen.
    """

    exist: bool
    staged: bool


class StoredActionFiles:
    """Reads the action files of all repositories. `check_hook` is as for `parse_action_file`."""

    def __init__(self, core: Core, blocks: BlockStore, check_hook: CheckHook) -> None:
        self._core = core
        self._blocks = blocks
        self._check_hook = check_hook
        self._trees: _Cache[_Files] = _Cache(_CACHED_TREES)
        self._parsed: _Cache[Action | Invalid] = _Cache(_CACHED_FILES)

    def look(self, repository: Repository, *places: Resolved) -> Look:
        """Returns whether there is an action file at one of several references."""
        staged = False
        for place in places:
            committed = self._files_of_commit(repository, place)
            if committed:
                return Look(exist=True, staged=False)
            # without an end, it tells in one read whether anything is staged that follows, too
            for token in place.tokens:
                for key, _ in self._core.staging.rows([token], _START, limit=1):
                    if key.startswith(_START):
                        return Look(exist=True, staged=False)
                    staged |= token == place.tokens[0]
        return Look(exist=False, staged=staged)

    def read(self, repository: Repository, *places: Resolved) -> Sequence[Action]:
        """Returns the actions of the files at several references, in order of the paths. A file
        that has the same path at two of them is read at the first.

        Raises Invalid for a file that is wrong and for two actions of one name, Gone for a file
        whose bytes are lost.
        """
        files: dict[str, Entry] = {}
        for place in places:
            for path, entry in self._files(repository, place):
                files.setdefault(path, entry)
        actions = [self._read(repository, path, files[path]) for path in sorted(files)]
        require_distinct_names(actions)
        return actions

    def _files(self, repository: Repository, place: Resolved) -> _Files:
        tokens = place.tokens
        if tokens and any(self._core.staging.rows(tokens, _START, _END, limit=1)):
            return self._list(repository, place)
        return self._files_of_commit(repository, place)

    def _files_of_commit(self, repository: Repository, place: Resolved) -> _Files:
        tree = self._core.commits.get(repository, place.commit_id).metarange_id
        return self._trees.get(
            (repository.storage_namespace, tree),
            lambda: self._list_committed(repository, place.commit_id),
        )

    def _list_committed(self, repository: Repository, commit_id: str) -> _Files:
        tree = self._core.objects.tree(repository, commit_id)
        if not self._core.trees.read(tree.contains_prefix, _START):
            return ()
        about_to_take_long()  # all that is in the folder is listed, which may be too many files
        return self._list(repository, Resolved(commit_id))

    def _list(self, repository: Repository, place: Resolved) -> _Files:
        listing = self._core.objects.listing_at(
            repository, place, prefix=FOLDER, delimiter="/", amount=_MAX_FILES
        )
        if listing.has_more:
            raise Invalid(
                f"there are more than {_MAX_FILES} files in {FOLDER}",
                kind="invalid_action_file",
                hint="All files in that folder are action files; move the others elsewhere.",
            )
        return [
            (decode_key(key), entry_from(value))
            for key, value in listing.rows()
            if value is not None and key != _START
        ]

    def _read(self, repository: Repository, path: str, entry: Entry) -> Action:
        address = physical_address(repository.storage_namespace, entry.address, entry.address_type)
        if entry.address_type != AddressType.RELATIVE:  # it may change
            return self._parse(path, entry, address)

        def parse() -> Action | Invalid:
            try:
                return self._parse(path, entry, address)
            except Invalid as error:
                return error

        parsed = self._parsed.get((address, path), parse)
        if isinstance(parsed, Invalid):
            raise Invalid(parsed.message, kind=parsed.kind, hint=parsed.hint)
        return parsed

    def _parse(self, path: str, entry: Entry, address: str) -> Action:
        # a longer file is refused by its first bytes
        length = min(entry.size, MAX_BYTES + 1)
        try:
            content = self._blocks.read(address, 0, length)
        except Gone as error:
            raise Gone(f"the action file {path} cannot be read: {error.message}") from error
        action = parse_action_file(content, path, self._check_hook)
        return msgspec.structs.replace(action, address=entry.address)
