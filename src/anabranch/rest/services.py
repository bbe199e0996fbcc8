"""What the operations work on, built once for the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.authenticate import Authenticator
from anabranch.access.credentials import Credentials
from anabranch.access.setup import Setup
from anabranch.access.users import Users
from anabranch.catalog.catalog import Catalog

__all__ = ["Services", "Version"]


class Version(NamedTuple):
    """What the server says it is: our own version, and whose API it speaks."""

    version: str
    context: str = "lakeFS"


class Services(NamedTuple):
    """Everything that operations use; `clock` gives seconds since 1970."""

    catalog: Catalog
    authenticator: Authenticator
    users: Users
    credentials: Credentials
    setup: Setup
    version: Version
    clock: Callable[[], float]
