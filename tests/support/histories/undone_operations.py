"""What tests of undo have in common: changes of the repository `sea`, its last operation, and users
who may not do everything.
"""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.library import Lake
from anabranch.model.commits.commit import Commit
from anabranch.model.references.operation import LoggedOperation

_REPOSITORY = "arn:lakefs:fs:::repository/sea"


def without(*denied: tuple[str, str], name: str = "jane") -> Actor:
    """Returns a user who may do everything but some actions on some resources of the repository;
    `*` stands for all that there are.
    """
    statements = [
        Statement(
            Effect.DENY, (action,), (resource if resource == "*" else f"{_REPOSITORY}/{resource}",)
        )
        for action, resource in denied
    ]
    return Actor(username=name, statements=[ALLOW_ALL, *statements])


def put(lake: Lake, branch: str, path: str) -> None:
    """Uploads an object that contains its path."""
    lake.objects.upload("sea", branch, path, [path.encode()])


def commit(lake: Lake, branch: str, path: str) -> Commit:
    """Commits an object that contains its path."""
    put(lake, branch, path)
    return lake.commits.commit("sea", branch, committer="ada", message="m")


def last(lake: Lake) -> LoggedOperation:
    """Returns the last operation."""
    return lake.operations.list("sea", amount=1).items[0]
