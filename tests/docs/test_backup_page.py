"""docs/backup.md: its commands run, in their order."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from support.checkout import ROOT
from support.session.forked_python import forked_python

import anabranch

PAGE = (ROOT / "docs" / "backup.md").read_text(encoding="utf-8")
LINES = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)).splitlines()


@pytest.mark.slow
def test_the_commands_run_in_their_order(tmp_path):
    with anabranch.open(tmp_path / "lake", committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        lake.commits.commit("sea", "main", message="m")
    assert len(LINES) == 6
    for line in LINES:
        command = [forked_python(), "-m", *shlex.split(line)]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, (line, ran.stderr)
    with anabranch.open(tmp_path / "new-lake") as lake:
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"1"
