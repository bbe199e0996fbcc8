"""What the operations work on, built once for the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.access import Access
from anabranch.catalog.catalog import Catalog
from anabranch.pipelines.images.builds import Builds
from anabranch.pipelines.imports.imports import Imports

__all__ = ["Services", "Version"]


class Version(NamedTuple):
    """What the server says it is: the version of lakeFS whose API it speaks, which clients take
    apart as numbers between dots, and its own.
    """

    version: str
    anabranch: str
    context: str = "lakeFS"


class Services(NamedTuple):
    """Everything that operations use; `clock` gives seconds since 1970, `presign_endpoint` is
    where clients reach our own presigned URLs, if not where they ask.
    """

    catalog: Catalog
    imports: Imports
    builds: Builds
    access: Access
    version: Version
    clock: Callable[[], float]
    presign_endpoint: str = ""
