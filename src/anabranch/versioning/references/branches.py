"""Branches: creates, reads, updates by compare-and-set, lists and deletes them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from anabranch.brevity import about_to_take_long, while_brief
from anabranch.errors import AlreadyExists, Busy, Conflict, Denied, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import check_branch, check_new_branch, is_too_long
from anabranch.model.page import Page, take_page, upper_bound
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.expiring_branches import due_writes
from anabranch.versioning.references.branch_ends import BranchEndRules
from anabranch.versioning.references.workspaces import Workspaces
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["Branches", "StoredBranch"]

_UPDATE_TIMEOUT_SECONDS = 60.0
_BACKOFF_SECONDS = 0.01
_IMMEDIATE_RETRIES = 2
_BRANCHES_AT_ONCE = 1_000


class StoredBranch(NamedTuple):
    """A branch with the record that it was read from, which compare-and-set compares."""

    branch: Branch
    record: bytes

    def unchanged(self, repository: Repository) -> Expect:
        """Returns the condition that the branch has not changed since it was read."""
        return Expect(repository.partition, keys.branch(self.branch.id), self.record)


class Branches:
    """The branches of all repositories."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        commits: Commits,
        clock: Callable[[], float],
    ) -> None:
        self.workspaces = Workspaces(keyvalue)
        self.ends = BranchEndRules(keyvalue)
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._commits = commits
        self._clock = clock

    def find(self, repository: Repository, name: str) -> StoredBranch | None:
        """Returns a branch, or None."""
        raw = self._keyvalue.get(repository.partition, keys.branch(name))
        return None if raw is None else StoredBranch(references.branch_from(raw), raw)

    def read(self, repository: Repository, name: str) -> StoredBranch:
        """Returns a branch. Raises NotFound."""
        stored = self.find(repository, name)
        if stored is None:
            raise NotFound("branch not found", kind="branch_not_found")
        return stored

    def heads(self, repository: Repository, names: Iterable[str]) -> dict[str, str]:
        """Returns the commits of those of the branches that exist, by name."""
        listed = sorted(names)
        stored = self._keyvalue.get_many(repository.partition, [keys.branch(n) for n in listed])
        return {
            name: references.branch_from(raw).commit_id
            for name, raw in zip(listed, stored, strict=True)
            if raw is not None
        }

    def create(
        self,
        repository: Repository,
        name: str,
        commit_id: str,
        *,
        hidden: bool = False,
        expires_at: int = 0,
        extra_writes: Sequence[ExtraWritesFor[Branch]] = (),
    ) -> Branch:
        """Creates a branch at a commit, with an empty staging area; `extra_writes` adds writes.

        Raises AlreadyExists if the branch exists, Conflict if a tag or a commit has this name, and
        Invalid if it would expire in the past.
        """
        self.require_valid(repository, name)
        self._require_future(expires_at)
        self._commits.require_no_id(repository, name)
        branch = Branch(
            id=name,
            commit_id=commit_id,
            staging_token=self._identifiers.staging_token(repository.id, name),
            hidden=hidden,
            expires_at=expires_at,
        )
        absent = [
            Expect(repository.partition, keys.branch(name), None),
            Expect(repository.partition, keys.tag(name), None),
        ]
        while True:
            extra, expect = collect_extra_writes(extra_writes, branch)
            due = due_writes(repository, name, 0, expires_at)
            writes = [self.write(repository, branch), *due, *extra]
            if self._keyvalue.apply(writes, [*absent, *expect]):
                return branch
            self._require_absent(repository, name)

    def require_valid(self, repository: Repository, name: str) -> None:
        """Raises Invalid for a name that no new branch may have; what `create` raises for a name in
        use, if only its length is wrong: a client that asks for what exists learns that it does.
        """
        check_branch(name)
        if is_too_long(name):
            self.require_free(repository, name)
            check_new_branch(name)

    def require_free(self, repository: Repository, name: str) -> None:
        """Raises what `create` raises for a name that is in use."""
        self._commits.require_no_id(repository, name)
        self._require_absent(repository, name)

    def _require_absent(self, repository: Repository, name: str) -> None:
        if self._keyvalue.get(repository.partition, keys.tag(name)) is not None:
            raise Conflict(f"tag ID {name}: conflict found", kind="name_is_a_tag")
        if self.find(repository, name) is not None:
            raise AlreadyExists("branch already exists: not unique", kind="branch_already_exists")

    def attempts(
        self, repository: Repository, name: str, known: StoredBranch | None = None
    ) -> Iterator[StoredBranch]:
        """Yields a branch for each attempt to change it, read anew: the caller decides on its
        writes, and ends the loop when `apply` has made them. `known` is the branch, if the caller
        has read it already.

        Raises NotFound, Conflict for an expired branch, and Busy when concurrent changes prevent
        the change for a minute.
        """
        deadline = time.monotonic() + _UPDATE_TIMEOUT_SECONDS
        attempt = 0
        while True:
            stored, known = known or self.read(repository, name), None
            self._require_unexpired(stored.branch)
            yield stored
            if time.monotonic() > deadline:
                raise Busy(
                    f"branch {name} is changed by too many requests at once", kind="too_many_tries"
                )
            attempt += 1
            # the first retries are immediate, later ones spread out
            time.sleep(random.uniform(0, _BACKOFF_SECONDS) if attempt > _IMMEDIATE_RETRIES else 0)  # noqa: S311

    def apply(
        self,
        repository: Repository,
        stored: StoredBranch,
        writes: Sequence[Write],
        expect: Sequence[Expect] = (),
    ) -> bool:
        """Makes writes on condition that a branch has not changed since it was read and that
        `expect` holds; returns whether it did. Does nothing without writes and conditions. Raises
        Conflict for a branch that has expired meanwhile, and NotFound for a branch that is not that
        of the caller's workspace any more.
        """
        if not writes and not expect:
            return True
        self._require_unexpired(stored.branch)
        # the branch is read: another one of its name has another record
        self.workspaces.require_own(repository, stored.branch.id)
        return self._keyvalue.apply(writes, [stored.unchanged(repository), *expect])

    def is_expired(self, branch: Branch) -> bool:
        """Returns whether the time of a branch is over."""
        return bool(branch.expires_at) and self._clock() >= branch.expires_at

    def set_expiry(self, repository: Repository, name: str, expires_at: int) -> Branch:
        """Returns the branch with another time at which it expires, 0 for none; an expired one,
        too, can be given one. Raises NotFound, and Invalid for a time in the past.
        """
        self._require_future(expires_at)
        while True:
            stored = self.read(repository, name)
            changed = msgspec.structs.replace(stored.branch, expires_at=expires_at)
            due = due_writes(repository, name, stored.branch.expires_at, expires_at)
            writes = [self.write(repository, changed), *due]
            if self._keyvalue.apply(writes, [stored.unchanged(repository)]):
                return changed

    def _require_future(self, expires_at: int) -> None:
        if expires_at and expires_at <= self._clock():
            raise Invalid(
                "a branch cannot expire in the past",
                kind="expires_in_the_past",
                hint="Name a later time, or delete the branch.",
            )

    def _require_unexpired(self, branch: Branch) -> None:
        if self.is_expired(branch):
            raise Conflict(
                f"the branch {branch.id} has expired",
                kind="branch_expired",
                hint="Give it more time: anabranch branch expire.",
            )

    def seal(self, repository: Repository, branch: Branch) -> Branch:
        """Returns the branch with its active staging area sealed and a new one active."""
        token = self._identifiers.staging_token(repository.id, branch.id)
        return msgspec.structs.replace(branch, staging_token=token, sealed_tokens=branch.tokens)

    def empty(self, repository: Repository, branch: Branch) -> Branch:
        """Returns the branch with a new, empty staging area and no sealed ones."""
        token = self._identifiers.staging_token(repository.id, branch.id)
        return msgspec.structs.replace(branch, staging_token=token, sealed_tokens=())

    def write(self, repository: Repository, branch: Branch) -> Write:
        """Returns the write that stores a branch."""
        return Write(repository.partition, keys.branch(branch.id), references.branch_bytes(branch))

    def list(
        self,
        repository: Repository,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
        show_hidden: bool = False,
    ) -> Page[Branch]:
        """Returns a page of branches by name."""
        stem = keys.branch(prefix)
        start = max(stem, keys.branch(after) + b"\x00") if after else stem
        end, limit = upper_bound(stem), amount + 1
        shown: list[Branch] = []
        while True:
            scanned = self._keyvalue.scan(repository.partition, start, end, limit=limit)
            rows = list(while_brief(scanned, lambda row: len(row[1])))
            branches = [references.branch_from(raw) for _, raw in rows]
            shown += branches if show_hidden else [each for each in branches if not each.hidden]
            if len(rows) < limit or len(shown) > amount:
                break
            about_to_take_long()
            start, limit = rows[-1][0] + b"\x00", _BRANCHES_AT_ONCE  # instead of hidden ones
        return take_page(shown, amount, lambda branch: branch.id)

    def all(self, repository: Repository) -> Iterator[Branch]:
        """Yields all branches of a repository by name, hidden ones too."""
        for _, raw in self._keyvalue.scan(repository.partition, *keys.all_branches()):
            yield references.branch_from(raw)

    def delete(
        self,
        repository: Repository,
        name: str,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
        known: StoredBranch | None = None,
    ) -> None:
        """Deletes a branch and its staged changes, which the operation log keeps; `extra_writes`
        adds writes. `known` is the branch, if the caller has read it already.

        Raises NotFound, also for a branch that is not that of the caller's workspace any more, and
        Denied for the repository's default branch.
        """
        if name == repository.default_branch:
            raise Denied(
                "cannot delete repository default branch", kind="default_branch_undeletable"
            )
        while True:
            stored, known = known or self.read(repository, name), None
            self.workspaces.require_own(repository, name)
            writes = [
                Write(repository.partition, keys.branch(name), None),
                *due_writes(repository, name, stored.branch.expires_at, 0),
                *self.workspaces.removal(repository, name),
            ]
            extra, expect = collect_extra_writes(extra_writes, None)
            if self._keyvalue.apply([*writes, *extra], [stored.unchanged(repository), *expect]):
                return
