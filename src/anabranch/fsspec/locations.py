"""What a path of the file system names."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Location", "locate"]


class Location(NamedTuple):
    """An object or folder of a reference; the last parts are empty for what has them."""

    repository: str
    reference: str
    path: str

    @property
    def root(self) -> str:
        """The path of the reference, with a slash."""
        return f"{self.repository}/{self.reference}/"

    @property
    def folder(self) -> str:
        """The prefix of what is in it as a folder."""
        return f"{self.path}/" if self.path else ""


def locate(path: str) -> Location:
    """Returns what a path without its scheme names."""
    repository, _, rest = path.partition("/")
    reference, _, inside = rest.partition("/")
    return Location(repository, reference, inside)
