"""The table of operations: everything the API can do, declared in the files of its nouns."""

from __future__ import annotations

from typing import Any

from anabranch.rest import (
    auth,
    branch_protection,
    branches,
    commits,
    config,
    garbage_preparation,
    garbage_rules,
    health,
    images,
    imports,
    metadata,
    objects,
    planned,
    presigned_uploads,
    refs,
    repositories,
    setup,
    staging,
    statistics,
    sweeps,
    tags,
    uploads,
)
from anabranch.rest.operation import Operation

__all__ = ["BASE_PATH", "EXTENSIONS", "OPERATIONS"]

BASE_PATH = "/api/v1"

OPERATIONS: tuple[Operation[Any, Any], ...] = (
    *health.OPERATIONS,
    *config.OPERATIONS,
    *setup.OPERATIONS,
    *statistics.OPERATIONS,
    *auth.OPERATIONS,
    *repositories.OPERATIONS,
    *branches.OPERATIONS,
    *branch_protection.OPERATIONS,
    *garbage_rules.OPERATIONS,
    *garbage_preparation.OPERATIONS,
    *tags.OPERATIONS,
    *commits.OPERATIONS,
    *refs.OPERATIONS,
    *objects.OPERATIONS,
    *uploads.OPERATIONS,
    *staging.OPERATIONS,
    *presigned_uploads.OPERATIONS,
    *metadata.OPERATIONS,
    *imports.OPERATIONS,
    *planned.OPERATIONS,
)
"""Every operation of lakeFS's, once."""

EXTENSIONS: tuple[Operation[Any, Any], ...] = (*images.OPERATIONS, *sweeps.OPERATIONS)
"""Operations of our own."""
