"""What a client knows of the objects that it alone writes: the values that one may have now."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Registers"]

Key = tuple[str, str]
"""A branch and a path."""


class Registers:
    """The values that objects may have, None where there is no object. A write whose outcome is
    unknown adds a value; what is read settles it.
    """

    def __init__(self) -> None:
        self._possible: dict[Key, set[bytes | None]] = {}
        self._begun: list[tuple[Key, bytes | None]] = []

    def possible(self, key: Key) -> frozenset[bytes | None]:
        """Returns the values that an object may have."""
        return frozenset(self._possible.get(key, {None}))

    def written(self, key: Key, value: bytes | None) -> None:
        """An acknowledged write."""
        self._possible[key] = {value}

    def not_written(self, key: Key, possible: frozenset[bytes | None]) -> None:
        """A write that was not made: the object may have the values that it might have before."""
        self._possible[key] = set(possible)

    def maybe_written(self, key: Key, value: bytes | None) -> None:
        """A write that has begun, or whose outcome is unknown."""
        self._possible.setdefault(key, {None}).add(value)
        self._begun.append((key, value))

    def begin_read(self, key: Key) -> Callable[[bytes | None], None]:
        """Returns what another client calls with the value that it then reads: one that the object
        may have had since this call. Raises AssertionError for another one.
        """
        before, begun = self.possible(key), len(self._begun)

        def end_read(value: bytes | None) -> None:
            since = {new for written, new in self._begun[begun:] if written == key}
            assert value in before | since, f"{key} is {value!r} to others: {before}, {since}"

        return end_read

    def read(self, key: Key, value: bytes | None) -> None:
        """Raises AssertionError for a value that the object cannot have."""
        possible = self._possible.setdefault(key, {None})
        assert value in possible, f"{key} is {value!r}, and can be {possible}"
        self._possible[key] = {value}

    def settled(self) -> dict[Key, bytes | None]:
        """Returns the objects whose value is known."""
        return {
            key: next(iter(values)) for key, values in self._possible.items() if len(values) == 1
        }

    def written_keys(self) -> list[Key]:
        """Returns all objects, in order."""
        return sorted(self._possible)
