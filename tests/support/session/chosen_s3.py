"""Which S3 the tests of this run use; light, as every run asks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.services.minio_program import minio_program

_VERSION = Path(__file__).parents[3] / "tools" / "minio-version"


def minio(config: pytest.Config) -> Path | None:
    """Returns the MinIO that tests run over, None for moto's S3."""
    choice = config.getoption("--s3")
    if choice == "moto":
        return None
    program = minio_program(_VERSION.read_text().strip(), os.environ)
    if program is None and choice == "minio":
        raise pytest.UsageError("MinIO is not built: `make minio` does that")
    return program
