"""What the operations of S3 work on, built once for the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.access import Access
from anabranch.catalog.catalog import Catalog

__all__ = ["Services"]


class Services(NamedTuple):
    """Everything that operations use. `clock` gives seconds since 1970, `region` is what clients
    are told, and under `namespace_prefix`, unless it is empty, buckets may be created. Web pages
    of the origins in `cors` may send requests.
    """

    catalog: Catalog
    access: Access
    clock: Callable[[], float]
    domains: tuple[str, ...] = ()
    region: str = "us-east-1"
    namespace_prefix: str = ""
    cors: tuple[str, ...] = ()
