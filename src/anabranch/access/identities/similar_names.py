"""Index of users by what their names have in common with names that people take for the same.

Each new user adds an entry, and the first one adds entries for all users who were there before.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

from anabranch.access.records.layout import OWN_PARTITION, SIMILAR_NAMES, USERS
from anabranch.access.records.record_pages import scan_names
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["HIDDEN", "SimilarNames", "are_similar"]

HIDDEN = frozenset({"Cf", "Cc"})
"""Unicode's categories of invisible characters: direction marks, joiners, controls."""

_ENTRIES = SIMILAR_NAMES + b"/"


class SimilarUsers(NamedTuple):
    """The names of users that people take for a name, and the writes that add a user of the name
    to the index, for the change that creates the user.
    """

    names: list[str]
    entries: list[Write]


class SimilarNames:
    """The names of users that differ only in case, blanks, invisible characters, or other forms of
    a letter.
    """

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def find(self, username: str) -> SimilarUsers:
        """Returns what the index has on a name."""
        skeleton = _skeleton(username)
        keys = [SIMILAR_NAMES, _key(skeleton)]
        marker, indexed = self._store.get_many(OWN_PARTITION, keys)
        if marker is not None:
            candidates = [] if indexed is None else [indexed.decode()]
            return SimilarUsers(candidates, [_entry(username)])
        names = list(scan_names(self._store, USERS))
        missing = [*map(_entry, names), Write(OWN_PARTITION, SIMILAR_NAMES, b"")]
        candidates = [name for name in names if _skeleton(name) == skeleton]
        return SimilarUsers(candidates, [*missing, _entry(username)])

    def removals(self, username: str) -> list[Write]:
        """Returns the writes that remove a user from the index, for the change that deletes the
        user.
        """
        key = _key(_skeleton(username))
        indexed = self._store.get(OWN_PARTITION, key)
        return [Write(OWN_PARTITION, key, None)] if indexed == username.encode() else []


def are_similar(one: str, other: str) -> bool:
    """Returns whether people take two names for the same."""
    return _skeleton(one) == _skeleton(other)


def _entry(username: str) -> Write:
    return Write(OWN_PARTITION, _key(_skeleton(username)), username.encode())


def _key(skeleton: str) -> bytes:
    return _ENTRIES + skeleton.encode()


@lru_cache(maxsize=4096)
def _skeleton(username: str) -> str:
    """Returns what names have in common that people take for the same."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", username).casefold())
    return "".join(
        each for each in text if not each.isspace() and unicodedata.category(each) not in HIDDEN
    )
