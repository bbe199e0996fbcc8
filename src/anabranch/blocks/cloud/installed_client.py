"""Whether the clients of an object store are installed, which are extras."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import Invalid

__all__ = ["report_missing_client"]


@contextmanager
def report_missing_client(extra: str) -> Iterator[None]:
    """Context of imports of a store's client; raises Invalid if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise Invalid(
            f"the client of this object store is not installed: {error.name}",
            kind="extra_missing",
            hint=f"pip install 'anabranch[{extra}]'",
        ) from error
