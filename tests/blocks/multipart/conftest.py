"""Stores that receive uploads in parts."""

from __future__ import annotations

import pytest


@pytest.fixture(
    params=[
        "memory",
        "faulty",
        "local",
        "named_local",
        "s3_store",
        "gcs_store",
        "azure_store",
        "unsigning_gcs_store",  # uploads whose parts are objects, for stores that cannot sign
    ]
)
def store(request):
    return request.getfixturevalue(request.param)
