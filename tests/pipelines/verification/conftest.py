"""An installation in a folder with every feature used, and its verification."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.verification.used_installation import open_lake, use_every_feature, verification_of

from anabranch.audit.file import AuditFile
from anabranch.pipelines.verification.report import VerificationReport


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that was used, and is not open."""
    folder = tmp_path / "lake"
    with open_lake(folder) as lake:
        use_every_feature(lake, tmp_path)
    audit = AuditFile(tmp_path / "audit.log", max_bytes=1 << 20, keep_files=2)
    for number in range(5):
        audit.write([{"event": "decision", "number": number}])
    return folder


@pytest.fixture
def verify(folder: Path) -> Callable[..., VerificationReport]:
    return partial(verification_of, folder)
