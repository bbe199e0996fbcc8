"""The schema of changes of settings, and of records of the installation, in operation logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from anabranch.access.policies.policies import decode_policy, encode_resources
from anabranch.errors import AnabranchError
from anabranch.model.references.operation import SettingChanged
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.operations.notification_changes import targets_from_log
from anabranch.versioning.records import references
from anabranch.versioning.records.branch_ends import ends_from
from anabranch.versioning.records.pulls import pull_from

__all__ = ["SettingChange", "to_setting_change"]


_MAX_TEXT = 1000
"""How many characters of a description a page of operations shows, which has up to 1,000."""


class SettingChange(msgspec.Struct, frozen=True):
    """A setting or a record before and after an operation, null where it did not exist. Its `kind`
    is `branch_protection`, `branch_ends`, `metadata`, `notifications`, `pull_request`, `undo_days`
    or `garbage_rules` in the log of a repository, and `repository`, `policy`, `group`, `user`,
    `membership`, `group_policy` or `user_policy` in that of the installation, where it has a
    `name`; `GROUP/USER` is that of a membership, and its id that of a pull request. An empty object
    stands for a user, an attachment, and what the reader may not read.
    """

    kind: str
    name: str
    before: Any
    after: Any


def to_setting_change(change: SettingChanged) -> SettingChange:
    """Returns the change of a setting as the API shows it."""
    show = _SHOWN.get(change.kind, _exists)
    before, after = (_shown(show, change.name, raw) for raw in (change.before, change.after))
    return SettingChange(change.kind, change.name, before, after)


def _shown(show: Callable[[str, bytes], Any], name: str, raw: bytes | None) -> Any:
    if raw is None:
        return None
    if not raw and show in (_policy, _group, _repository):
        return {}  # it may not be read
    try:
        return show(name, raw)
    except (AnabranchError, DecodeError, ValueError):
        return {}  # of a damaged record only that it was there


def _exists(_: str, __: bytes) -> dict[str, Any]:
    return {}


def _protection(_: str, raw: bytes) -> list[dict[str, Any]]:
    rules = references.protection_from(raw)
    return [
        {"pattern": pattern, "required_approvals": rules.approvals.get(pattern, 0)}
        for pattern in rules.patterns
    ]


def _rules(_: str, raw: bytes) -> dict[str, Any] | None:
    if not raw:
        return None  # the rules were deleted
    message = records.GarbageCollectionRules.FromString(raw)
    return {
        "default_retention_days": message.default_retention_days,
        "branches": [
            {"branch_id": name, "retention_days": days}
            for name, days in sorted(message.branch_retention_days.items())
        ],
    }


def _notifications(_: str, raw: bytes) -> Any:
    return msgspec.to_builtins(targets_from_log(raw))


def _pull(_: str, raw: bytes) -> dict[str, Any]:
    pull = pull_from(raw)
    shown = {
        "title": pull.title,
        "status": pull.status.value,
        "source_branch": pull.source,
        "destination_branch": pull.destination,
        "author": pull.author.name,
        "reviewers": [{"name": each.name, "kind": each.kind.value} for each in pull.reviewers],
    }
    if pull.description:  # only if it has changed
        shown["description"] = pull.description[:_MAX_TEXT]
    if pull.merged_commit_id:
        shown["merged_commit_id"] = pull.merged_commit_id
    return shown


def _policy(name: str, raw: bytes) -> dict[str, Any]:
    policy = decode_policy(name, raw)
    return {
        "statement": [
            {
                "effect": each.effect.value,
                "action": list(each.actions),
                "resource": encode_resources(each.resources),
                **({"condition": each.condition} if each.condition else {}),
            }
            for each in policy.statements
        ]
    }


def _group(_: str, raw: bytes) -> dict[str, Any]:
    return {"description": records.GroupData.FromString(raw).description}


def _repository(_: str, raw: bytes) -> dict[str, Any]:
    repository = references.repository_from(raw)
    return {
        "storage_namespace": repository.shown_namespace,
        "default_branch": repository.default_branch,
        "creation_date": repository.creation_date,
        "read_only": repository.read_only,
        "instance_uid": repository.instance_uid,
    }


_SHOWN: Mapping[str, Callable[[str, bytes], Any]] = {
    "branch_protection": _protection,
    "branch_ends": lambda _, raw: msgspec.to_builtins(ends_from(raw).rules),
    "notifications": _notifications,
    "pull_request": _pull,
    "metadata": lambda _, raw: references.metadata_from(raw),
    "undo_days": lambda _, raw: int(raw),
    "garbage_rules": _rules,
    "policy": _policy,
    "group": _group,
    "repository": _repository,
}
