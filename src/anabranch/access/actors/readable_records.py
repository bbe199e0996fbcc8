"""The records of tables, views and namespaces of a repository that a user may read in the catalog:
by permissions on these, or on the objects that they are.
"""

from __future__ import annotations

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.permissions import Action
from anabranch.access.policies.statements import Effect
from anabranch.access.policies.table_permissions import record_permission
from anabranch.model.tables.table_record import RECORDS_ROOT

__all__ = ["ReadableRecords"]

_READING = (Action.READ_TABLE, Action.READ_VIEW, Action.GET_NAMESPACE)


class ReadableRecords(ReadablePaths):
    """The readable records of one repository."""

    def __init__(self, actor: Actor, repository: str) -> None:
        super().__init__(actor, repository)
        self._by_name = any(
            statement.effect is Effect.ALLOW
            for action in _READING
            for statement in actor.statements_naming(action)
        )

    def __contains__(self, path: str) -> bool:
        """Returns whether the record at a path may be read."""
        reading = record_permission(Action.READ_OBJECT, self._repository, path, "")
        return self._actor.may(reading)

    def roots(self, prefix: str) -> list[str]:
        """Returns prefixes of all readable records that have `prefix`, as `ReadablePaths`."""
        if self._by_name and (prefix.startswith(RECORDS_ROOT) or RECORDS_ROOT.startswith(prefix)):
            return [max(prefix, RECORDS_ROOT, key=len)]
        return super().roots(prefix)
