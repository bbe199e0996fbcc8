"""Which records besides those of references the operation log has: settings of repositories, and
what concerns the installation.

    partition            key                        kind
    of a repository      settings/protected_branches  branch_protection
                         repo-metadata              metadata
                         anabranch-branch-ends      branch_ends
                         anabranch-notifications    notifications, without their addresses
                         pulls/ID                   pull_request, without its reviews
    of its operations    undo-days                  undo_days
    in its namespace     the file of the rules      garbage_rules, which `StoredRules` has
    graveler             repos/REPOSITORY           repository
    auth                 policies/POLICY            policy
                         groups/GROUP               group
                         users/USER                 user, without its record, which has secrets
                         gUsers/GROUP/users/USER    membership, called GROUP/USER
                         gPolicies/…, uPolicies/…   group_policy, user_policy, in the same way
    basicAuth            users/superAdmin           user, called as the record says

Those of the last three partitions are in the log of the installation. The keys of `auth` are
lakeFS's, which `access.records.layout` describes.
"""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.message import DecodeError

from anabranch.model.references.operation import SettingChanged
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.operations.notification_changes import logged_targets
from anabranch.versioning.operations.pull_changes import logged_pulls
from anabranch.versioning.operations.record import UNDO_DAYS, operations_partition
from anabranch.versioning.records import keys, references

__all__ = [
    "GARBAGE_RULES",
    "INSTALLATION",
    "LOGGED_KEYS",
    "NOTIFICATIONS",
    "PULL_REQUEST",
    "InstallationLog",
    "Logged",
    "logged",
    "setting_changed",
    "setting_location",
]


class InstallationLog(NamedTuple):
    """The owner of the log of the installation, as a repository is that of its own."""

    partition: str = ":installation"


INSTALLATION = InstallationLog()
GARBAGE_RULES = "garbage_rules"
NOTIFICATIONS = "notifications"
PULL_REQUEST = "pull_request"
_AUTH, _SETUP = "auth", "basicAuth"
_SETUP_USER = b"users/superAdmin"
_REPOSITORIES = keys.repository("")
_RECORDS = {b"policies/": "policy", b"groups/": "group", b"users/": "user"}
_RELATIONS = {
    b"gUsers/": ("membership", b"/users/"),
    b"gPolicies/": ("group_policy", b"/policies/"),
    b"uPolicies/": ("user_policy", b"/policies/"),
}
_SETTINGS = {
    keys.PROTECTION: "branch_protection",
    keys.BRANCH_ENDS: "branch_ends",
    keys.METADATA: "metadata",
    keys.NOTIFICATIONS: NOTIFICATIONS,
}
_KEYS_OF_SETTINGS = {kind: key for key, kind in _SETTINGS.items()}
_PULLS = keys.pull("")

LOGGED_KEYS = (*_SETTINGS, _PULLS, UNDO_DAYS, _REPOSITORIES, *_RECORDS, *_RELATIONS)
"""What the keys of all these records begin with, and perhaps those of others."""

_OPERATIONS = operations_partition("")
_EXISTS = b""


class Logged(NamedTuple):
    """A kind of record, its name, and the partition of the references in whose log it is."""

    kind: str
    name: str
    log: str


def logged(partition: str, key: bytes) -> Logged | None:
    """Returns what a record is, or None if the log does not have it."""
    if partition == keys.GRAVELER:
        if key.startswith(_REPOSITORIES):
            return Logged("repository", _text(key[len(_REPOSITORIES) :]), INSTALLATION.partition)
        return None
    if partition == _AUTH:
        return _access_record(key)
    if partition == _SETUP:
        return Logged("user", "", INSTALLATION.partition) if key == _SETUP_USER else None
    if partition.startswith(_OPERATIONS):
        is_days = key == UNDO_DAYS
        return Logged("undo_days", "", partition[len(_OPERATIONS) :]) if is_days else None
    return None if ":" in partition else _record_of_repository(partition, key)


def _record_of_repository(partition: str, key: bytes) -> Logged | None:
    if key.startswith(_PULLS):
        return Logged(PULL_REQUEST, _text(key[len(_PULLS) :]), partition)
    kind = _SETTINGS.get(key)
    return None if kind is None else Logged(kind, "", partition)


def _access_record(key: bytes) -> Logged | None:
    stem = key[: key.find(b"/") + 1]
    name = key[len(stem) :]
    if stem in _RECORDS:
        return Logged(_RECORDS[stem], _text(name), INSTALLATION.partition)
    if stem in _RELATIONS:
        kind, infix = _RELATIONS[stem]
        owner, _, target = name.partition(infix)
        return Logged(kind, _text(owner + b"/" + target), INSTALLATION.partition)
    return None


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def setting_changed(
    record: Logged, before: bytes | None, after: bytes | None
) -> SettingChanged | None:
    """Returns the change of a record, or None if it is no change that the log has: the record of a
    repository that is being deleted is none, and reviews change no pull request.
    """
    if record.kind == "repository":
        before, after = _unless_in_deletion(before), _unless_in_deletion(after)
    elif record.kind == PULL_REQUEST:
        before, after = logged_pulls(before, after)
    elif record.kind == NOTIFICATIONS:
        before, after = logged_targets(before), logged_targets(after)
    elif record.kind == "user":
        record = record._replace(name=record.name or _setup_user(before or after or b""))
        before, after = (None if each is None else _EXISTS for each in (before, after))
    return None if before == after else SettingChanged(record.kind, record.name, before, after)


def _setup_user(raw: bytes) -> str:
    message = records.UserData()
    try:
        message.ParseFromString(raw)
    except DecodeError:
        return ""  # a damaged record is replaced by a recovery
    return message.username


def _unless_in_deletion(raw: bytes | None) -> bytes | None:
    return None if raw is None or references.repository_from(raw).in_deletion else raw


def setting_location(partition: str, change: SettingChanged) -> tuple[str, bytes]:
    """Returns the partition and the key of the setting that was changed in the repository with a
    partition.
    """
    if change.kind == "undo_days":
        return operations_partition(partition), UNDO_DAYS
    if change.kind == PULL_REQUEST:
        return partition, keys.pull(change.name)
    return partition, _KEYS_OF_SETTINGS[change.kind]
