"""Who has changed committed code: the action files and scripts that hooks are made of.

    REPOSITORY    commit-authors/COMMIT       a JSON list of principals
    REPOSITORY    anabranch-restored-by       likewise: who restored its references from a dump

The committer of a commit is a text, which records of commits that clients write and dumps can have
of others. So the users are recorded where action files exist, with each record of a commit that a
client writes, and with each restore; for all other commits the server has written the text itself.
"""

from __future__ import annotations

import msgspec

from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.caller import UNKNOWN, Principal, current_caller
from anabranch.model.commits.commit import Commit
from anabranch.model.names import encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.last_changes import LastChanges
from anabranch.versioning.records import keys
from anabranch.versioning.records.entries import Value
from anabranch.versioning.trees.trees import Trees

__all__ = ["CodeAuthors"]

_PRINCIPALS = msgspec.json.Decoder(tuple[Principal, ...])


class CodeAuthors:
    """The authors of committed code."""

    def __init__(self, keyvalue: KeyValueStore, trees: Trees, last_changes: LastChanges) -> None:
        self._keyvalue = keyvalue
        self._trees = trees
        self._last_changes = last_changes

    def of_commit(self, repository: Repository, commit_id: str) -> Write:
        """Returns the write that attributes a commit to the current caller."""
        return _write(repository, keys.commit_authors(commit_id))

    def of_restore(self, repository: Repository) -> Write:
        """Returns the write that attributes the restored commits to the current caller."""
        return _write(repository, keys.RESTORED_BY)

    def find(self, repository: Repository, commit: Commit, path: str) -> tuple[Principal, ...]:
        """Returns who made the last commit that changed an object, on the line of a commit and its
        first parents: a merge counts as a change by the user who merged.
        """
        (changed,) = self._last_changes.find(repository, commit, [path], first_parent=True)
        if self._value(repository, commit, path) != self._value(repository, changed, path):
            return (UNKNOWN,)  # a client has written a tree with a wrong identity
        recorded, restored = self._keyvalue.get_many(
            repository.partition, [keys.commit_authors(changed.id), keys.RESTORED_BY]
        )
        if recorded is not None:
            return _PRINCIPALS.decode(recorded)
        named = Principal(
            changed.committer,
            changed.creation_date,
            recorded=False,
            elsewhere=restored is not None,
        )
        return (named,) if restored is None else (named, *_PRINCIPALS.decode(restored))

    def _value(self, repository: Repository, commit: Commit, path: str) -> Value | None:
        tree = self._trees.open(repository, commit.metarange_id)
        return self._trees.read(tree.get, encode_path(path))


def _write(repository: Repository, key: bytes) -> Write:
    authors = msgspec.json.encode(current_caller().principals)
    return Write(repository.partition, key, authors)
