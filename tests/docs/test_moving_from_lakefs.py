"""docs/moving-from-lakefs.md: its commands run in order, over an installation that lakeFS wrote.

A second server on the same store stands for lakeFS; its `lakectl` is our command line, which has
lakectl's commands. It begins with the repository as lakeFS wrote it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.recorded.recorded_installation import DUMP, DUMP_FILE, MANIFEST, check_restored, unpack
from support.session.forked_python import forked_python

import anabranch
from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server

PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-lakefs.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
NAMES = {"lakefs://flights": "lakefs://sea", "s3://lake/flights": "local://sea"}


@pytest.fixture
def lakes(tmp_path):
    """The data folders of a server of ours and of lakeFS's, which have one folder of objects. The
    references of the recorded repository are in the second."""
    unpack(tmp_path / "block")
    for name in ("lakectl", "anabranch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "block").symlink_to(tmp_path / "block")
    with lake_of(tmp_path / "lakectl") as lake:
        lake.repositories.create("sea", "local://sea", bare=True)
        lake.refs_dumps.restore("sea", DUMP)
    return tmp_path


def run(line, servers, folder):
    """Runs a command line of the page, and returns what it prints."""
    for name, real in NAMES.items():
        line = line.replace(name, real)
    program, *words = shlex.split(line, comments=True)
    server = servers[program]
    ran = subprocess.run(
        [forked_python(), "-m", "anabranch", *words],
        cwd=folder,
        env={
            "PYTHONPATH": str(Path(anabranch.__file__).parent.parent),
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ANABRANCH_SERVER": server.url,
            "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
            "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{line}\n{ran.stderr}"
    return ran.stdout


@pytest.mark.slow
def test_the_commands_of_the_page_move_a_repository_and_move_it_back(lakes):
    assert len(COMMANDS) > 12
    assert {shlex.split(line)[0] for line in COMMANDS} == {"lakectl", "anabranch"}
    with running_server(lakes / "lakectl") as theirs, running_server(lakes / "anabranch") as ours:
        servers = {"lakectl": theirs, "anabranch": ours}
        printed = {line: run(line, servers, lakes) for line in COMMANDS}
    dumped = json.loads((lakes / "refs.json").read_text())
    recorded = json.loads(DUMP_FILE.read_text())
    for kind in ("branches", "tags"):
        assert dumped[f"{kind}_meta_range_id"] == recorded[f"{kind}_meta_range_id"]
    ((_, log),) = [each for each in printed.items() if each[0].startswith("anabranch log")]
    assert MANIFEST["branches"]["main"]["commit_id"] in log
    (rules,) = [text for line, text in printed.items() if "get-config" in line]
    for rule in MANIFEST["gc_rules"]["branches"]:
        assert rule["branch_id"] in rules
    for name in ("anabranch", "lakectl"):
        with lake_of(lakes / name) as lake:
            check_restored(lake, "sea")


def test_the_page_names_every_error_of_a_restore():
    for kind in ("invalid_refs_dump", "address_forbidden", "sweep_under_way", "swept_meanwhile"):
        assert f"`{kind}`" in PAGE
