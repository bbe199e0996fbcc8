"""What runs beside pytest, and which changes pytest does not see."""

from __future__ import annotations

import os

import pytest
from support.selection.other_checks import other_checks, stale_build

TABLES = "--package=anabranch-tables"


@pytest.mark.parametrize(
    ("path", "filters"),
    [
        ("kernel/tables/src/tree/merge.rs", [TABLES, "--lib", "--", "tree::"]),
        ("kernel/tables/src/varint.rs", [TABLES, "--lib", "--", "varint::"]),
        ("kernel/tables/src/lib.rs", []),
        ("kernel/tables/tests/recorded_tables.rs", []),
        ("kernel/python/src/trees.rs", []),
        ("kernel/Cargo.toml", []),
    ],
)
def test_a_change_of_the_kernel_runs_the_tests_of_its_module(tmp_path, path, filters):
    (check,) = other_checks(tmp_path, [path])
    assert check.command[:2] == ["cargo", "test"]
    assert check.command[5:] == filters


@pytest.mark.parametrize(
    ("scripts", "names"),
    [('{"test": "vitest run"}', ["npm test", "make web-check"]), ("{}", ["make web-check"])],
)
def test_a_change_of_the_pages_runs_their_tests_and_checks(tmp_path, scripts, names):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "package.json").write_text(f'{{"scripts": {scripts}}}')
    checks = other_checks(tmp_path, ["web/src/history/lanes.ts", "docs/web.md"])
    assert [check.name for check in checks] == names


def test_other_changes_need_pytest_alone(tmp_path):
    assert other_checks(tmp_path, ["src/anabranch/web/static_files.py", "docs/web.md"]) == []


def test_tests_of_python_see_a_change_of_the_kernel_once_it_is_built(tmp_path):
    changed = ["kernel/http/src/lib.rs", "src/anabranch/errors.py"]
    source = tmp_path / "kernel" / "http" / "src" / "lib.rs"
    built = tmp_path / "src" / "anabranch" / "_kernel.abi3.so"
    for file in (source, built):
        file.parent.mkdir(parents=True)
        file.touch()
    os.utime(built, (1, 1))
    assert stale_build(tmp_path, changed) == {"kernel/http/src/lib.rs": "make install"}
    os.utime(source, (1, 1))
    assert stale_build(tmp_path, changed) == {}
