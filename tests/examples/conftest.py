"""The commands of docs/ecosystem.md, and a shell that has the programs of an environment."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from support.checkout import ROOT
from support.session.environments import environment

PAGE = (ROOT / "docs" / "ecosystem.md").read_text(encoding="utf-8")


def commands(title):
    """Returns the commands of a section; without a title, those before the first section."""
    begin = PAGE.index(f"\n## {title}\n") if title else 0
    (block,) = re.findall(
        r"^```sh\n(.*?)^```$",
        PAGE[begin : f"{PAGE}\n## ".index("\n## ", begin + 1)],
        re.MULTILINE | re.DOTALL,
    )
    return block


def connected(script, server):
    """Returns commands with the address and the keys of a server."""
    script = script.replace("http://127.0.0.1:8000", server.url)
    script = re.sub(r"(\w+_ACCESS_KEY_ID)=\.\.\.", rf"\1={server.access_key_id}", script)
    return re.sub(r"(\w+_SECRET_ACCESS_KEY)=\.\.\.", rf"\1={server.secret_access_key}", script)


@pytest.fixture
def shell(tmp_path):
    """A function that runs commands in a folder, with the programs of an environment, and with
    `anabranch` of another one.
    """
    command = tmp_path / "bin" / "anabranch"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m anabranch "$@"\n')
    command.chmod(0o755)

    def run(name, script, **more):
        word = f"examples-{name}" if name in {"dbt", "torch"} else "examples"
        programs = environment(f"examples-{name}", word) / "bin"
        variables = {
            "HOME": str(tmp_path),
            "PATH": f"{programs}:{command.parent}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "src"),
            "DO_NOT_TRACK": "1",
            "DAGSTER_DISABLE_TELEMETRY": "1",
            **more,
        }
        return subprocess.run(
            ["/bin/sh", "-eu", "-c", script],
            cwd=tmp_path,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
