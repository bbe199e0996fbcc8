"""The commands of the tutorial run in their order, as a reader types them, then its Python."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support.session.forked_python import forked_python, program_path

from anabranch.cli.commands.servers.quickstart import ACCESS_KEY_ID, COMMAND, SECRET_ACCESS_KEY
from anabranch.cli.framework.parsing import parse
from anabranch.testing.server import running_server

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
START, *BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_server_starts_as_the_page_says():
    words = START.split()
    assert words[:3] == ["$", "anabranch", "quickstart"]
    assert parse("quickstart", COMMAND, words[3:]).data == "my-lake"


def test_the_commands_and_the_python_run_as_printed(tmp_path):
    assert len(BLOCKS) == 8
    script = re.sub(r"^\$ ", "", "".join(BLOCKS), flags=re.MULTILINE)
    env = {
        "ANABRANCH_INSTALLATION_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    }
    environment = {"HOME": str(tmp_path), "PATH": program_path()}
    with running_server(tmp_path / "my-lake", env=env) as server:
        script = script.replace("http://127.0.0.1:8000", server.url)
        ran = run(["/bin/sh", "-eux", "-c", script], tmp_path, environment)
        assert ran.returncode == 0, ran.stderr
        # before the branch, on main, of the commit before, by the tag, after the revert
        lengths = re.findall(r"^Amazon,(\d+)", ran.stdout, re.MULTILINE)
        assert lengths == ["6575", "6400", "6400", "6400"]
        assert 'length_km: "6400" -> "6575"' in ran.stdout
        assert ran.stdout.endswith("refused\n")

        (python,) = PYTHON
        environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
        ran = run([forked_python(), "-c", python], tmp_path, environment)
        assert (ran.returncode, ran.stderr) == (0, "")


def run(words, folder, environment):
    """Returns the outcome of a program in a folder."""
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
