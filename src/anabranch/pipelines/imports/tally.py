"""What an import counts on its way, and where it learns that it shall stop."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.errors import Invalid

__all__ = ["Refused", "Tally"]

_SHOWN = 5


class Tally:
    """How many objects have been found. `look` is called now and then, and raises to stop."""

    def __init__(self, look: Callable[[], None] = lambda: None) -> None:
        self.found = 0
        self.look = look

    def add(self, number: int) -> None:
        """Counts objects, and looks whether to go on."""
        self.found += number
        self.look()


class Refused:
    """Objects that cannot be on a branch: how many, and the first of them. `deed` is what is not
    done to them, for the message.
    """

    def __init__(self, deed: str = "imported") -> None:
        self._deed = deed
        self.count = 0
        self._shown: list[str] = []

    def add(self, address: str, reason: str) -> None:
        """Takes one down."""
        self.count += 1
        if len(self._shown) < _SHOWN:
            name = address if len(address) <= 200 else f"{address[:200]}…"  # noqa: PLR2004
            self._shown.append(f"{name!r}: {reason}")

    def require_none(self) -> None:
        """Raises Invalid, which shows the first of them, if there were any."""
        if self.count:
            more = "" if self.count <= _SHOWN else f"; and {self.count - _SHOWN} more"
            shown = "; ".join(self._shown)
            raise Invalid(
                f"{self.count} of the objects cannot be {self._deed}: {shown}{more}",
                kind="unfit_names",
                hint="Rename them, or import only what is beside them.",
            )
