"""What has changed of the references of a repository since an operation, as a restore reads it.

The changes of a reference are a chain: each one begins where the one before it has ended, and the
last one has ended where the reference is now. Servers whose clocks differ may have recorded two in
another order than they were made. The chain is broken then: what the reference was is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import ReferenceChanged, SettingChanged
from anabranch.model.references.tag import Tag
from anabranch.versioning.operations.log import StoredOperation
from anabranch.versioning.operations.logged_records import PULL_REQUEST
from anabranch.versioning.operations.record import reference_key
from anabranch.versioning.operations.refusals import out_of_order
from anabranch.versioning.operations.restored_pulls import is_of_merge

__all__ = ["ChangesSince", "SinceOfReference", "changes_since", "state_of"]


class SinceOfReference(NamedTuple):
    """The first change of a reference since, in which operation it is, and the last change. A name
    that `is_reused` is of a reference that was created since.
    """

    first: ReferenceChanged
    stored: StoredOperation
    last: ReferenceChanged
    is_reused: bool


class ChangesSince(NamedTuple):
    """What has changed of each reference, and the first change that has merged each pull request,
    or has taken its merge back.
    """

    references: list[SinceOfReference]
    merges: dict[str, SettingChanged]


def changes_since(newest_first: Iterable[StoredOperation]) -> ChangesSince:
    """Returns what operations have changed, the first reference that changed last being first.
    Raises Conflict if two changes of a reference are not in the order in which they were made.
    """
    found: dict[bytes, SinceOfReference] = {}
    merges: dict[str, SettingChanged] = {}
    for stored in newest_first:
        for change in stored.operation.changes:
            key = reference_key(change)
            later = found.get(key)
            if later is not None and state_of(change.after) != state_of(later.first.before):
                raise out_of_order(change.name)
            found[key] = SinceOfReference(
                change,
                stored,
                change if later is None else later.last,
                change.before is None or (later is not None and later.is_reused),
            )
        for setting in stored.operation.settings:
            if setting.kind == PULL_REQUEST and is_of_merge(setting):
                merges[setting.name] = setting
    return ChangesSince(list(found.values()), merges)


def state_of(reference: Branch | Tag | None) -> object:
    """Returns what operations change of a reference, which can be compared: of a branch nothing of
    its staging areas.
    """
    if isinstance(reference, Branch):
        return reference.commit_id, reference.hidden, reference.expires_at
    return reference
