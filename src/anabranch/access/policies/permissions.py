"""Permissions: actions and names of resources, as in lakeFS 1.84.

A permission is one action on one resource. Policies written for lakeFS name the same actions and
the same resources, so the values must not change. Images, their actions, that of the audit log,
`auth:UpdateUser` and branches in the names of tables are our own.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from anabranch.errors import Invalid
from anabranch.model.references.expression import parse_expression

__all__ = [
    "ANY",
    "BRANCH_ACTIONS",
    "CATALOG",
    "TABLE_ACTIONS",
    "Action",
    "AllBelow",
    "Permission",
    "branch_arn",
    "external_principal_arn",
    "group_arn",
    "image_arn",
    "namespace_arn",
    "object_arn",
    "policy_arn",
    "reference_arn",
    "repository_arn",
    "tag_arn",
    "user_arn",
]

ANY = "*"
"""As the resource of a permission: any resource, for example to list repositories."""

_FS = "arn:lakefs:fs:::"
_AUTH = "arn:lakefs:auth:::"
CATALOG = "arn:lakefs:catalog:::"
"""What the names of tables, views and their namespaces begin with."""


class Action(StrEnum):
    """Actions that policies allow or deny."""

    READ_REPOSITORY = "fs:ReadRepository"
    CREATE_REPOSITORY = "fs:CreateRepository"
    UPDATE_REPOSITORY = "fs:UpdateRepository"
    ATTACH_STORAGE_NAMESPACE = "fs:AttachStorageNamespace"
    IMPORT_FROM_STORAGE = "fs:ImportFromStorage"
    PURGE_STORAGE_NAMESPACE = "fs:PurgeStorageNamespace"
    IMPORT_CANCEL = "fs:ImportCancel"
    DELETE_REPOSITORY = "fs:DeleteRepository"
    LIST_REPOSITORIES = "fs:ListRepositories"
    READ_OBJECT = "fs:ReadObject"
    WRITE_OBJECT = "fs:WriteObject"
    DELETE_OBJECT = "fs:DeleteObject"
    LIST_OBJECTS = "fs:ListObjects"
    CREATE_COMMIT = "fs:CreateCommit"
    READ_COMMIT = "fs:ReadCommit"
    LIST_COMMITS = "fs:ListCommits"
    CREATE_BRANCH = "fs:CreateBranch"
    DELETE_BRANCH = "fs:DeleteBranch"
    READ_BRANCH = "fs:ReadBranch"
    REVERT_BRANCH = "fs:RevertBranch"
    LIST_BRANCHES = "fs:ListBranches"
    CREATE_TAG = "fs:CreateTag"
    DELETE_TAG = "fs:DeleteTag"
    READ_TAG = "fs:ReadTag"
    LIST_TAGS = "fs:ListTags"
    READ_CONFIG = "fs:ReadConfig"
    CREATE_IMAGE = "fs:CreateImage"
    READ_IMAGE = "fs:ReadImage"
    DELETE_IMAGE = "fs:DeleteImage"

    READ_USER = "auth:ReadUser"
    CREATE_USER = "auth:CreateUser"
    UPDATE_USER = "auth:UpdateUser"
    DELETE_USER = "auth:DeleteUser"
    LIST_USERS = "auth:ListUsers"
    READ_GROUP = "auth:ReadGroup"
    CREATE_GROUP = "auth:CreateGroup"
    DELETE_GROUP = "auth:DeleteGroup"
    LIST_GROUPS = "auth:ListGroups"
    ADD_GROUP_MEMBER = "auth:AddGroupMember"
    REMOVE_GROUP_MEMBER = "auth:RemoveGroupMember"
    READ_POLICY = "auth:ReadPolicy"
    CREATE_POLICY = "auth:CreatePolicy"
    UPDATE_POLICY = "auth:UpdatePolicy"
    DELETE_POLICY = "auth:DeletePolicy"
    LIST_POLICIES = "auth:ListPolicies"
    ATTACH_POLICY = "auth:AttachPolicy"
    DETACH_POLICY = "auth:DetachPolicy"
    READ_CREDENTIALS = "auth:ReadCredentials"
    CREATE_CREDENTIALS = "auth:CreateCredentials"
    DELETE_CREDENTIALS = "auth:DeleteCredentials"
    LIST_CREDENTIALS = "auth:ListCredentials"
    CREATE_USER_EXTERNAL_PRINCIPAL = "auth:CreateUserExternalPrincipal"
    DELETE_USER_EXTERNAL_PRINCIPAL = "auth:DeleteUserExternalPrincipal"
    READ_EXTERNAL_PRINCIPAL = "auth:ReadExternalPrincipal"
    READ_AUDIT = "auth:ReadAudit"

    READ_ACTION = "ci:ReadAction"

    PREPARE_GARBAGE_COLLECTION_COMMITS = "retention:PrepareGarbageCollectionCommits"
    PREPARE_GARBAGE_COLLECTION_UNCOMMITTED = "retention:PrepareGarbageCollectionUncommitted"
    GET_GARBAGE_COLLECTION_RULES = "retention:GetGarbageCollectionRules"
    SET_GARBAGE_COLLECTION_RULES = "retention:SetGarbageCollectionRules"

    GET_BRANCH_PROTECTION_RULES = "branches:GetBranchProtectionRules"
    SET_BRANCH_PROTECTION_RULES = "branches:SetBranchProtectionRules"

    READ_PULL_REQUEST = "pr:ReadPullRequest"
    WRITE_PULL_REQUEST = "pr:WritePullRequest"
    LIST_PULL_REQUESTS = "pr:ListPullRequests"

    LIST_NAMESPACES = "catalog:ListNamespaces"
    GET_NAMESPACE = "catalog:GetNamespace"
    CREATE_NAMESPACE = "catalog:CreateNamespace"
    UPDATE_NAMESPACE = "catalog:UpdateNamespace"
    DELETE_NAMESPACE = "catalog:DeleteNamespace"
    LIST_TABLES = "catalog:ListTables"
    READ_TABLE = "catalog:ReadTable"
    CREATE_TABLE = "catalog:CreateTable"
    UPDATE_TABLE = "catalog:UpdateTable"
    DELETE_TABLE = "catalog:DeleteTable"
    LIST_VIEWS = "catalog:ListViews"
    READ_VIEW = "catalog:ReadView"
    CREATE_VIEW = "catalog:CreateView"
    UPDATE_VIEW = "catalog:UpdateView"
    DELETE_VIEW = "catalog:DeleteView"


TABLE_ACTIONS = frozenset(action for action in Action if action.startswith("catalog:"))
"""The actions on tables, views and their namespaces. Permissions on objects stand for them, so that
who may do everything with objects needs none of these.
"""

BRANCH_ACTIONS = frozenset(
    {
        Action.WRITE_OBJECT,
        Action.DELETE_OBJECT,
        Action.CREATE_COMMIT,
        Action.CREATE_BRANCH,
        Action.DELETE_BRANCH,
        Action.REVERT_BRANCH,
        Action.IMPORT_CANCEL,
        Action.CREATE_NAMESPACE,
        Action.UPDATE_NAMESPACE,
        Action.DELETE_NAMESPACE,
        Action.CREATE_TABLE,
        Action.UPDATE_TABLE,
        Action.DELETE_TABLE,
        Action.CREATE_VIEW,
        Action.UPDATE_VIEW,
        Action.DELETE_VIEW,
    }
)
"""The actions that change a branch, which conditions may compare. Reading is not among them: the
same content is read through tags, commits and other branches.
"""

_BRANCH_NAME = re.compile(rf"{_FS}repository/[^/]*/branch/(.+)", re.DOTALL)
_SYMBOL = re.compile(r"[~^@$]")


class AllBelow(str):
    """As the resource of a permission: all resources whose names have this prefix."""

    __slots__ = ()


class Permission(NamedTuple):
    """One action on one resource, which an operation needs. With an `image`, given by its tag, the
    permission to read that image suffices as well; ANY stands for any image. `branch` is the branch
    that the action changes: the empty string if it is not known, None if the resource names it.
    A permission on a table is also that on the `objects` which stand for it: all of these suffice,
    and a denial of one of them denies it.
    """

    action: str
    resource: str
    image: str = ""
    branch: str | None = None
    objects: tuple[Permission, ...] = ()

    @property
    def changed_branch(self) -> str | None:
        """The branch that conditions compare, None if it is not known."""
        if self.action not in BRANCH_ACTIONS:
            return None
        name = self.branch
        if name is None and not isinstance(self.resource, AllBelow):
            if self.resource.startswith(CATALOG):
                name = self.resource.partition("@")[2]
            else:
                named = _BRANCH_NAME.fullmatch(self.resource)
                name = named[1] if named else None
        # an expression such as `main~0` is no branch
        return None if not name or _SYMBOL.search(name) else name

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which statements mean the resource. A table that is changed has two: its
        own, and with the branch; if that is not known, all that begin so.
        """
        if isinstance(self.resource, AllBelow) or not self.resource.startswith(CATALOG):
            return (self.resource,)
        if self.action not in BRANCH_ACTIONS:
            return (self.resource,)
        name, branch = self.resource.partition("@")[0], self.changed_branch
        return name, f"{name}@{branch}" if branch else AllBelow(f"{name}@")

    def on_branch(self, branch: str) -> Permission:
        """Returns the permission to change another branch; the empty string if it is not known."""
        objects = tuple(each._replace(branch=branch) for each in self.objects)
        return self._replace(branch=branch, objects=objects)

    @property
    def implied_by(self) -> tuple[Permission, ...]:
        """The permissions that imply this one: to read its image, and, of listing a repository, to
        read it.
        """
        if self.action == Action.LIST_REPOSITORIES:
            return (Permission(Action.READ_REPOSITORY, self.resource),)
        if not self.image:
            return ()
        image = ANY if self.image == ANY else image_arn(self.image)
        return (Permission(Action.READ_IMAGE, image),)


def repository_arn(repository: str) -> str:
    """Returns the resource name of a repository."""
    return f"{_FS}repository/{repository}"


def namespace_arn(namespace: str) -> str:
    """Returns the resource name of a storage namespace, or of an address to import from."""
    return f"{_FS}namespace/{namespace}"


def object_arn(repository: str, path: str) -> str:
    """Returns the resource name of an object, the same on every reference."""
    return f"{_FS}repository/{repository}/object/{path}"


def branch_arn(repository: str, branch: str) -> str:
    """Returns the resource name of a branch."""
    return f"{_FS}repository/{repository}/branch/{branch}"


def reference_arn(repository: str, reference: str) -> str:
    """Returns the resource name of the branch from which a reference leads elsewhere, as `main~2`.
    A malformed reference leads nowhere.
    """
    try:
        base = parse_expression(reference).base
    except Invalid:
        base = reference
    return branch_arn(repository, base)


def tag_arn(repository: str, tag: str) -> str:
    """Returns the resource name of a tag."""
    return f"{_FS}repository/{repository}/tag/{tag}"


def image_arn(tag: str) -> str:
    """Returns the resource name of an image."""
    return f"{_FS}image/{tag}"


def user_arn(user: str) -> str:
    """Returns the resource name of a user."""
    return f"{_AUTH}user/{user}"


def group_arn(group: str) -> str:
    """Returns the resource name of a group."""
    return f"{_AUTH}group/{group}"


def policy_arn(policy: str) -> str:
    """Returns the resource name of a policy."""
    return f"{_AUTH}policy/{policy}"


def external_principal_arn(principal: str) -> str:
    """Returns the resource name of a principal of another system."""
    return f"{_AUTH}externalPrincipal/{principal}"
