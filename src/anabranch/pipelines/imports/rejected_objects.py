"""Objects of a store that cannot be imported because their names are invalid as paths."""

from __future__ import annotations

from anabranch.errors import Invalid

__all__ = ["RejectedObjects"]

_MAX_SHOWN = 5
_MAX_ADDRESS_CHARACTERS = 200


class RejectedObjects:
    """Counts rejected objects and keeps the first of them for an error message, which says that
    they cannot be imported, or cannot be `action`.
    """

    def __init__(self, action: str = "imported") -> None:
        self._action = action
        self._shown: list[str] = []
        self.count = 0

    def add(self, address: str, reason: str) -> None:
        """Counts an object."""
        self.count += 1
        if len(self._shown) < _MAX_SHOWN:
            is_long = len(address) > _MAX_ADDRESS_CHARACTERS
            name = f"{address[:_MAX_ADDRESS_CHARACTERS]}…" if is_long else address
            self._shown.append(f"{name!r}: {reason}")

    def require_none(self) -> None:
        """Raises Invalid, with the first objects in its message, if any were rejected."""
        if self.count:
            more = "" if self.count <= _MAX_SHOWN else f"; and {self.count - _MAX_SHOWN} more"
            shown = "; ".join(self._shown)
            raise Invalid(
                f"{self.count} of the objects cannot be {self._action}: {shown}{more}",
                kind="unfit_names",
                hint="Rename them, or import only the other objects.",
            )
