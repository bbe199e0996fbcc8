"""The commands of `docs/s3-clients.md`, run as they stand there."""

from __future__ import annotations

import re

import pytest
from support.clients.forked_aws import forked_aws
from support.services.program import Program


@pytest.fixture
def shell(home, request):
    """A shell in which the newest AWS command line is `aws`."""
    programs = request.getfixturevalue("clients_bin")
    path = f"{forked_aws(programs).parent}:{programs}:/usr/bin:/bin"
    return Program(["bash", "-euxc"], folder=home, env={"PATH": path})


@pytest.mark.parametrize(
    ("section", "client"),
    [("The AWS command line", "aws"), ("s3cmd", "s3cmd"), ("rclone", "rclone"), ("s5cmd", "s5cmd")],
)
@pytest.mark.sample(1)
def test_commands(request, page, past, shell, home, fetch, section, client):
    request.getfixturevalue(client)  # writes the settings of that section
    commands = page.commands(section)
    assert len(commands) >= 6
    ran = shell(re.sub(r"\bsea\b", past.id, "\n".join(commands)))
    assert past.get("depth.csv") == b"Mariana,10935\n"
    assert (home / "copy" / "depth.csv").read_bytes() == b"Mariana,10935\n"
    assert fetch(ran.lines[-1]) == (200, b"Mariana,10935\n")


def test_variables(page, aws_environment):
    exports = dict(line.split(" ")[1].split("=") for line in page.commands("Libraries"))
    assert exports == {name: aws_environment[name] for name in exports}
