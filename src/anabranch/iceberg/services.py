"""The objects that operations of the catalog use, built once for the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.access import Access
from anabranch.audit.log import AuditLog
from anabranch.catalog.catalog import Catalog

__all__ = ["Services"]


class Services(NamedTuple):
    """Everything that operations use. `clock` returns seconds since 1970; `region` is that of the
    S3 gateway. Without `audit`, nothing is recorded.
    """

    catalog: Catalog
    access: Access
    clock: Callable[[], float]
    region: str = "us-east-1"
    audit: AuditLog | None = None
