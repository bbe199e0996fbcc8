"""The events on which hooks run, by lakeFS's names."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["EventType"]


class EventType(StrEnum):
    """The kinds of events. Hooks of a `pre-` event, and of `prepare-commit`, can prevent it."""

    PREPARE_COMMIT = "prepare-commit"
    PRE_COMMIT = "pre-commit"
    POST_COMMIT = "post-commit"
    PRE_MERGE = "pre-merge"
    POST_MERGE = "post-merge"
    PRE_CREATE_TAG = "pre-create-tag"
    POST_CREATE_TAG = "post-create-tag"
    PRE_DELETE_TAG = "pre-delete-tag"
    POST_DELETE_TAG = "post-delete-tag"
    PRE_CREATE_BRANCH = "pre-create-branch"
    POST_CREATE_BRANCH = "post-create-branch"
    PRE_EXPIRE_BRANCH = "pre-expire-branch"
    PRE_DELETE_BRANCH = "pre-delete-branch"
    POST_DELETE_BRANCH = "post-delete-branch"
    PRE_REVERT = "pre-revert"
    POST_REVERT = "post-revert"
    PRE_CHERRY_PICK = "pre-cherry-pick"
    POST_CHERRY_PICK = "post-cherry-pick"

    @property
    def is_after(self) -> bool:
        """Whether the event reports a change that was made."""
        return self.startswith("post-")

    @property
    def names_commit(self) -> bool:
        """Whether runs of the event have the id of its commit, even if the change is refused."""
        return self.is_after or self.of_tag or self is EventType.PRE_MERGE

    @property
    def of_tag(self) -> bool:
        """Whether the event is one of a tag, which has no branch."""
        return self.endswith("-tag")
