"""The commands of docs/migrating-a-database.md, run over the database that lakeFS wrote."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.histories.described_installation import RestCalls
from support.services.postgres import Cluster
from support.services.recorded_lakefs import (
    ACCESS_KEY_ID,
    ENCRYPT_KEY,
    SECRET_ACCESS_KEY,
    load_database,
    unpack_blocks,
)
from support.session.forked_python import forked_python

from anabranch.testing.server import running_server

PAGE = (Path(__file__).parents[2] / "docs" / "migrating-a-database.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for name, text in fenced if name == language]


@pytest.fixture
def place(postgres_cluster: Cluster, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A folder with the page's files, and what stands for the page's examples."""
    block = unpack_blocks(tmp_path / "block")
    url = load_database(postgres_cluster)
    names = {
        "postgres://lakefs:password@db.example.com/lakefs": url,
        "postgres://lakefs@db.example.com/lakefs": url,
        "/var/lib/lakefs/block": str(block),
        "the-key-in-lakefs-configuration": ENCRYPT_KEY,
    }
    (config,) = blocks("yaml")
    (tmp_path / "lakefs.yaml").write_text(replaced(config, names))
    (tmp_path / "secret.txt").write_text(f"{ENCRYPT_KEY}\n")
    return tmp_path, names


def replaced(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def run(
    line: str, place: tuple[Path, dict[str, str]], **env: str
) -> subprocess.CompletedProcess[str]:
    folder, names = place
    command, *words = shlex.split(replaced(line, names))
    assert command == "anabranch"
    return subprocess.run(
        [forked_python(), "-m", "anabranch", *words],
        cwd=folder,
        env={"PYTHONPATH": ":".join(sys.path), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow  # tests/server/installation/test_lakefs_migration.py
def test_commands_in_place_print_what_the_page_says(place):
    dry, real = blocks("sh")[:2]
    (report,) = blocks("")
    shown = run(dry, place)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.sub(r"127\.0\.0\.1/test_\d+", "db.example.com/lakefs", shown.stdout) == report
    migrate, serve = real.splitlines()
    done = run(migrate, place)
    assert done.returncode == 0, done.stderr
    options = shlex.split(serve)[2:]
    assert options == ["--config", "lakefs.yaml"]


@pytest.mark.slow  # tests/server/installation/test_lakefs_migration.py
def test_commands_of_a_copy_fill_a_data_folder(place):
    folder, names = place
    dry, real, serve = blocks("sh")[2].splitlines()
    assert shlex.split(serve)[1:] == ["serve", "--config", "store.toml", "--data", "lake"]
    (store,) = blocks("toml")
    (folder / "store.toml").write_text(replaced(store, names))
    shown = run(dry, place)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert not (folder / "lake").exists()
    done = run(real, place)
    assert (done.returncode, done.stderr) == (0, "")
    settings = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": names["/var/lib/lakefs/block"]}
    with running_server(folder / "lake", env=settings) as server:
        calls = RestCalls(server.api, (ACCESS_KEY_ID, SECRET_ACCESS_KEY))
        changes = calls.pages("/repositories/sea/branches/dev/diff")
        assert [change["path"] for change in changes] == [
            "draft/new.txt",
            "maps/05.txt",
            "maps/06.txt",
        ]
