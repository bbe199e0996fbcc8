"""What the keys of a workspace reach: one branch, and some of its paths.

A confinement is a second condition of each decision, besides the policies of the workspace's
creator. It knows the few actions that it lets through; all others, and those of later versions, are
refused.
"""

from __future__ import annotations

import msgspec

from anabranch.access.policies.permissions import (
    ANY,
    Action,
    AllBelow,
    Permission,
    branch_arn,
    object_arn,
    repository_arn,
)
from anabranch.model.references.expression import branch_of
from anabranch.model.references.writable_paths import any_matches, may_write
from anabranch.patterns.path_patterns import path_pattern

__all__ = ["Confinement"]

_ON_REPOSITORY = frozenset(
    {
        Action.READ_REPOSITORY,
        Action.LIST_OBJECTS,
        Action.LIST_BRANCHES,
        Action.LIST_COMMITS,
        Action.READ_COMMIT,
        Action.WRITE_PULL_REQUEST,
    }
)
_ON_BRANCH = frozenset(
    {Action.READ_BRANCH, Action.CREATE_COMMIT, Action.REVERT_BRANCH, Action.DELETE_BRANCH}
)
_CHANGES = frozenset({Action.WRITE_OBJECT, Action.DELETE_OBJECT})


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """The reach of one workspace's keys: its branch, the commit at which it began, and patterns of
    paths. Without a pattern, all paths are readable and none is writable. `run_id` is the run that
    the workspace was made for; from `expires_at` on, in seconds since 1970, the keys are refused.
    `access_key_id` tells them from the keys of every other workspace.
    """

    repository: str
    branch: str
    source_commit: str
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    run_id: str
    expires_at: int
    access_key_id: str

    def reaches(self, repository: str, reference: str) -> bool:
        """Returns whether a reference is the branch, with or without its staged changes, or the
        commit at which it began. Other expressions lead elsewhere.
        """
        if repository != self.repository:
            return False
        return reference == self.source_commit or branch_of(reference) == self.branch

    def allows(self, permission: Permission) -> bool:
        """Returns whether a permission is within reach; of reading, at a reference within reach."""
        action, resource = permission.action, permission.resource
        repository = repository_arn(self.repository)
        if action in _ON_REPOSITORY:
            return resource == repository
        if action in _ON_BRANCH:
            return resource == branch_arn(self.repository, self.branch)
        if action == Action.LIST_REPOSITORIES:
            return resource in (ANY, repository)
        return self._allows_object(permission)

    def _allows_object(self, permission: Permission) -> bool:
        action, resource = permission.action, permission.resource
        objects = object_arn(self.repository, "")
        if not resource.startswith(objects):
            return False
        path, is_prefix = resource[len(objects) :], isinstance(resource, AllBelow)
        if action == Action.READ_OBJECT:
            return not self.readable or any_matches(self.readable, path, is_prefix=is_prefix)
        if action not in _CHANGES or permission.changed_branch != self.branch:
            return False
        return may_write(self.writable, path, is_prefix=is_prefix)

    @property
    def readable_prefixes(self) -> list[str]:
        """Prefixes of all readable paths."""
        return [path_pattern(text).literal for text in self.readable] or [""]
