"""An Iceberg table on two branches."""

from __future__ import annotations

import pytest
from support.formats.iceberg_tables import IcebergBranches


@pytest.fixture(params=[True, False], ids=["hadoop", "catalog"])
def branches(request, tmp_path):
    """A table whose metadata files have the names of Hadoop tables, or those of catalogs."""
    return IcebergBranches(tmp_path, hadoop=request.param)
