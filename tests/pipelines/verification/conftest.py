"""An installation in a folder with every feature used, and its verification."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.verification.used_installation import open_lake, use_every_feature, verification_of

from anabranch.audit.file import AuditFile
from anabranch.pipelines.verification.report import VerificationReport


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    used = tmp_path_factory.mktemp("used")
    with open_lake(used / "lake") as lake:
        use_every_feature(lake, used)
    audit = AuditFile(used / "audit.log", max_bytes=1 << 20, keep_files=2)
    for number in range(5):
        audit.write([{"event": "decision", "number": number}])
    return used


@pytest.fixture
def folder(used: Path, tmp_path: Path) -> Path:
    """A data folder that was used, and is not open."""
    shutil.copytree(used, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


@pytest.fixture
def verify(folder: Path) -> Callable[..., VerificationReport]:
    return partial(verification_of, folder)
