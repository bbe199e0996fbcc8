"""The commands of the README's sections run in their order, as a reader types them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from anabranch.cli.commands.servers.quickstart import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from anabranch.testing.server import running_server

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)+)", README, re.MULTILINE))


def commands(text):
    """Returns the commands in the blocks of a text, as a script."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return "".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in blocks)


def test_commands_for_a_team_and_for_every_day_run_as_printed(tmp_path):
    exports = re.findall(
        r"^export (?:PATH|ANABRANCH_[SA]).*\n", commands(SECTIONS["Start"]), re.MULTILINE
    )
    assert len(exports) == 4
    assert any(ACCESS_KEY_ID in line for line in exports)
    assert any(SECRET_ACCESS_KEY in line for line in exports)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    env = {
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    }
    with running_server(tmp_path / "lake", env=env) as server:
        script = "".join(exports).replace("http://127.0.0.1:8000", server.url)
        assert server.url in script
        for title in ("Share it", "Everyday commands"):
            assert commands(SECTIONS[title]).count("anabranch ") > 2
            script += commands(SECTIONS[title])
        ran = subprocess.run(
            ["/bin/sh", "-eux", "-c", script],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert "New data" in ran.stdout
