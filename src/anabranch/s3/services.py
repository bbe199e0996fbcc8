"""The objects and settings that S3 operations use, built once for the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.access import Access
from anabranch.audit.log import AuditLog
from anabranch.catalog.catalog import Catalog

__all__ = ["Services"]


class Services(NamedTuple):
    """Everything that operations use. `clock` returns seconds since 1970 and `region` is the region
    reported to clients. Buckets may be created below `namespace_prefix` unless it is empty. Web
    pages of the origins in `cors` may send requests. Without `audit`, nothing is recorded.
    """

    catalog: Catalog
    access: Access
    clock: Callable[[], float]
    domains: tuple[str, ...] = ()
    region: str = "us-east-1"
    namespace_prefix: str = ""
    cors: tuple[str, ...] = ()
    audit: AuditLog | None = None
