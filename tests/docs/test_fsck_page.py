"""docs/fsck.md: its command prints what it shows, and its table has the kinds that exist."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from support.checkout import ROOT
from support.session.forked_python import forked_python

import anabranch
from anabranch.pipelines.verification.findings import KINDS

PAGE = (ROOT / "docs" / "fsck.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (.+?) \| (.*?) ?\|$", PAGE, re.MULTILINE)


@pytest.mark.slow
def test_the_command_prints_what_the_page_shows(tmp_path):
    with anabranch.open(tmp_path / "lake", committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        lake.commits.commit("sea", "main", message="m")
    ((line, shown),) = re.findall(
        r"^```sh\n(.*)\n```\n\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    command = [forked_python(), "-m", *shlex.split(line)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == shown


def test_the_table_has_all_kinds_with_their_meanings():
    assert {kind: means for kind, means, _ in ROWS} == dict(KINDS)


def test_the_table_says_which_kinds_are_mended():
    mended = {kind for kind, _, mends in ROWS if mends}
    source = (ROOT / "tests/pipelines/verification/test_planted.py").read_text(encoding="utf-8")
    listed = re.search(r"^MENDED = \{(.*?)^\}", source, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert mended == set(re.findall(r'"(\w+)"', listed[1]))
