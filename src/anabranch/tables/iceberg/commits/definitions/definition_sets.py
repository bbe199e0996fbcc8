"""The schemas, partition specs or sort orders of a table, by their ids."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.refusals import refused

__all__ = ["DefinitionSet"]

_LAST_ADDED = -1


class DefinitionSet:
    """Definitions of one kind, one of which is `chosen`, None as long as none is. The field
    `id_name` has the id of each; those with the same `identity` are the same. `first` is the least
    id that is given to one.
    """

    def __init__(
        self,
        given: Iterable[Mapping[str, Any]],
        id_name: str,
        identity: Callable[[Mapping[str, Any]], Hashable],
        *,
        chosen: int | None,
        first: int = 0,
    ) -> None:
        self.chosen = chosen
        self.last_added: int | None = None
        self.is_changed = False
        self._id_name = id_name
        self._identity = identity
        self._by_id = {int(each[id_name]): each for each in given}
        self._next = max([first, *(number + 1 for number in self._by_id)])
        self._ids: dict[Hashable, int] | None = None

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def get(self, number: int) -> Mapping[str, Any]:
        """Returns the one with an id. Raises Invalid without one."""
        try:
            return self._by_id[number]
        except KeyError:
            raise refused(f"there is no {self._id_name} {number}") from None

    def values(self) -> list[Mapping[str, Any]]:
        """Returns all."""
        return list(self._by_id.values())

    def find(self, given: Mapping[str, Any]) -> int | None:
        """Returns the id of the one that is the same, None without one; it is the one that was
        added last then.
        """
        if self._ids is None:
            self._ids = {}
            for number, each in self._by_id.items():
                self._ids.setdefault(self._identity(each), number)
        found = self._ids.get(self._identity(given))
        if found is not None:
            self.last_added = found
        return found

    @property
    def next_id(self) -> int:
        """The id after the highest."""
        return self._next

    def add(self, given: Mapping[str, Any], number: int | None = None) -> None:
        """Adds one that is not the same as another, with an id or the one after the highest."""
        number = self._next if number is None else number
        self._by_id[number] = {**given, self._id_name: number}
        if self._ids is not None:
            self._ids[self._identity(given)] = number
        self._next = max(self._next, number + 1)
        self.last_added = number
        self.is_changed = True

    def choose(self, number: int) -> None:
        """Chooses the one with an id; -1 is the one that was added last."""
        if number == _LAST_ADDED:
            if self.last_added is None:
                raise refused(f"{self._id_name} {_LAST_ADDED}: the commit adds none before it")
            number = self.last_added
        self.get(number)
        if self.chosen != number:
            self.chosen = number
            self.is_changed = True

    def remove(self, numbers: Collection[int]) -> None:
        """Removes those that are there. Raises Invalid for the chosen one."""
        if self.chosen in numbers:
            raise refused(f"{self._id_name} {self.chosen} is in use")
        for number in numbers:
            if self._by_id.pop(number, None) is not None:
                self.is_changed = True
                self._ids = None
