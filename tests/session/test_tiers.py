"""Tiers: which files a run reads, and that each test is in one tier."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.session.tiers import holds_no_test

ROOT = Path(__file__).parents[2]
TEST, SYSTEMS = "not slow and not systems", "not slow and systems"


@pytest.mark.parametrize(
    ("folder", "text", "read_by"),
    [
        ("tests/web", "def test_page(): ...", [SYSTEMS]),
        ("tests/clients/s3", "@pytest.mark.wiring\ndef test_one(): ...", [TEST, SYSTEMS]),
        ("tests/model", "def test_one(): ...", [TEST]),
        ("tests/model", "def test_one(postgres_cluster): ...", [TEST, SYSTEMS]),
        ("tests/blocks", "from support.services.minio import running_minio", [TEST, SYSTEMS]),
        ("tests/cli", "def test_one(server): ...", [TEST, SYSTEMS]),
        ("tests/model", "@pytest.mark.systems\ndef test_one(): ...", [TEST, SYSTEMS]),
    ],
)
def test_a_run_reads_files_that_may_have_tests_of_its_tier(tmp_path, folder, text, read_by):
    file = tmp_path / folder / "test_it.py"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert [tier for tier in (TEST, SYSTEMS) if not holds_no_test(file, tier)] == read_by
    assert not holds_no_test(file, "")
    assert not holds_no_test(file.with_name("conftest.py"), TEST)


def test_a_conftest_above_may_name_a_service(tmp_path):
    file = tmp_path / "tests" / "blocks" / "cache" / "test_it.py"
    file.parent.mkdir(parents=True)
    file.write_text("def test_one(store): ...")
    assert holds_no_test(file, SYSTEMS)
    other = tmp_path / "tests" / "keyvalue" / "test_it.py"
    other.parent.mkdir()
    other.write_text("def test_one(store): ...")
    other.with_name("conftest.py").write_text("def store(postgres_cluster): ...")
    assert not holds_no_test(other, SYSTEMS)


def collected(expression):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", expression, "tests"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(line for line in listed.splitlines() if "::" in line)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_test_is_in_one_tier():
    assert sorted(collected(TEST) + collected(SYSTEMS)) == collected("not slow")
