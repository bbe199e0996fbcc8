"""Resolution of reference expressions like `main`, `v1~2` or `8fe1`.

A base is resolved as the first of: a full commit id, a branch, a tag, an unambiguous prefix of a
commit id. A branch alone includes its staged changes; `branch@` is its head without them; `branch$`
includes them explicitly. `^` and `~` select ancestors. `branch@{yesterday}` is the branch's head of
that moment, by the operation log.
"""

from __future__ import annotations

import msgspec

from anabranch.brevity import about_to_take_long
from anabranch.errors import Invalid, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.references.expression import Expression, has_steps, parse_expression
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import ID_LENGTH, Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.operations.log import OperationLog
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.references.tags import Tags

__all__ = ["COMMITTED", "STAGING", "References", "Resolved", "at_branch"]

COMMITTED = "@"
STAGING = "$"
INVALID = "ref: invalid value: validation error"
"""lakeFS's message for an invalid reference; the hint says what is wrong with it."""


class Resolved(msgspec.Struct, frozen=True):
    """A resolved reference: a commit, and the branch whose staged changes overlay it, if any."""

    commit_id: str
    branch: StoredBranch | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The staging areas that overlay the commit, the newest first."""
        return self.branch.branch.tokens if self.branch else ()


def at_branch(stored: StoredBranch) -> Resolved:
    """Returns a branch with its staged changes as a resolved reference."""
    return Resolved(stored.branch.commit_id, stored)


class References:
    """Resolves references."""

    def __init__(
        self,
        branches: Branches,
        tags: Tags,
        commits: Commits,
        index: HistoryIndex,
        operations: OperationLog,
    ) -> None:
        self._operations = operations
        self._branches = branches
        self._tags = tags
        self._commits = commits
        self._index = index

    def resolve(self, repository: Repository, text: str) -> Resolved:
        """Resolves a reference; a bare branch includes its staged changes.

        Raises NotFound, and Invalid for a malformed reference.
        """
        if self._is_commit(repository, text):
            return Resolved(text)
        if has_steps(text):
            about_to_take_long()  # already to parse it, if it has thousands of them
        expression = _expression(text)
        if expression.moment is None:
            base = self._base(repository, expression.base)
        else:
            base = Resolved(
                self._operations.commit_named(repository, expression.base, expression.moment)
            )
        if expression.view and base.branch is None:
            raise Invalid(
                INVALID,
                kind="invalid_reference",
                hint=f"{expression.base} is not a branch: only a branch has a staging area.",
            )
        if expression.view == COMMITTED:
            return Resolved(base.commit_id)
        if not expression.modifiers:
            return base
        commit = self._commits.get(repository, base.commit_id)
        return Resolved(self._index.revision(repository, commit, expression.modifiers).id)

    def commit(self, repository: Repository, text: str) -> Commit:
        """Returns the commit that a reference resolves to; a branch resolves to its head.

        Raises NotFound, and Invalid for a staging area.
        """
        return self.commit_of(repository, self.resolve(repository, text), text)

    def commit_of(self, repository: Repository, resolved: Resolved, text: str) -> Commit:
        """Returns the commit of what a reference has been resolved to. Raises what `commit` raises
        for it.
        """
        if resolved.branch is not None and text.endswith(STAGING):
            raise Invalid(
                f"reference '{text}': reference to staging area with $ is not a commit",
                kind="invalid_reference",
            )
        return self._commits.get(repository, resolved.commit_id)

    def _is_commit(self, repository: Repository, name: str) -> bool:
        """Returns whether a name is a commit's full id."""
        return len(name) == ID_LENGTH and self._commits.find(repository, name) is not None

    def _base(self, repository: Repository, name: str) -> Resolved:
        if self._is_commit(repository, name):
            return Resolved(name)
        stored = self._branches.find(repository, name)
        if stored is not None:
            return at_branch(stored)
        tag = self._tags.find(repository, name)
        if tag is not None:
            return Resolved(tag.commit_id)
        commit = self._commits.with_prefix(repository, name)
        if commit is None:
            raise NotFound(
                "not found",
                kind="reference_not_found",
                hint=f"There is no branch, tag or commit {name!r} in {repository.id}.",
            )
        return Resolved(commit.id)


def _expression(text: str) -> Expression:
    try:
        return parse_expression(text)
    except Invalid as error:
        hint = f"{error.message}. {error.hint}"
        raise Invalid(INVALID, kind=error.kind, hint=hint[:1].upper() + hint[1:]) from error
