"""docs/moving-from-dvc.md: its commands run in their order, in a repository that DVC has filled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.checkout import ROOT

from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server

PAGE = (ROOT / "docs/moving-from-dvc.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(VERSION,) = re.findall(r"tried with DVC ([\d.]+\d)", PAGE)
FILLED = """
git init --quiet --initial-branch=work
dvc init --quiet
mkdir data
echo same > data/same.txt
echo one > data/one.txt
echo two > data/two.txt
dvc add --quiet data
git add . && git commit --quiet -m first && git tag v1
rm data/one.txt
echo 2 > data/two.txt
echo three > data/three.txt
dvc add --quiet data
git add . && git commit --quiet -m second && git tag v2
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder of DVC, in an environment of its own."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("dvc")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"dvc~={VERSION}.0"], check=True)
    return folder / "bin"


def test_each_tag_is_a_commit_with_its_files(programs, tmp_path):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    git = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "ada")
    git |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "ada@example.com")
    with running_server(tmp_path / "data") as server:
        key, secret = server.auth
        environment = git | {
            "ANABRANCH_SERVER": server.url,
            "ANABRANCH_ACCESS_KEY_ID": key,
            "ANABRANCH_SECRET_ACCESS_KEY": secret,
            "DVC_NO_ANALYTICS": "1",
            "HOME": str(home),
            "PATH": f"{sys.prefix}/bin:{programs}:{os.environ['PATH']}",
        }
        printed = ""
        for script in (FILLED, *BLOCKS):
            ran = subprocess.run(
                ["/bin/sh", "-eu", "-c", script],
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            printed = ran.stdout
        assert sorted(printed.splitlines()[-3:]) == [
            "added\tdata/three.txt",
            "changed\tdata/two.txt",
            "removed\tdata/one.txt",
        ]
        with lake_of(tmp_path / "data") as lake:
            assert files(lake, "v1") == {"same": b"same\n", "one": b"one\n", "two": b"two\n"}
            assert files(lake, "v2") == {"same": b"same\n", "three": b"three\n", "two": b"2\n"}


def files(lake, tag):
    found = [item.path for item in lake.objects.listing("images", tag, amount=10).items]
    return {
        path.removeprefix("data/").removesuffix(".txt"): lake.objects.open(
            "images", tag, path
        ).read_bytes()
        for path in found
    }
