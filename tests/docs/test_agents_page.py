"""AGENTS.md: its commands run in their order and print what its table says; its kinds exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess

import pytest
from support.checkout import ROOT
from support.session.forked_python import program_path

from anabranch.testing.server import running_server

PAGE = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
LINES = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)).splitlines()
COMMANDS = [line for line in LINES if not line.startswith("export ")]
DOCUMENTS = re.findall(r"^\| `([^`]+)` \| (list|object): (.+) \|$", PAGE, re.MULTILINE)
SETUP = """\
anabranch repo create lakefs://flights local://flights
anabranch branch create lakefs://flights/first --source lakefs://flights/main
printf 'id,delay\\n1,5\\n2,-3\\n' > flights.csv
anabranch fs upload lakefs://flights/first/may.csv --source flights.csv
anabranch commit lakefs://flights/first -m May
anabranch merge lakefs://flights/first main
anabranch branch-protect add lakefs://flights main
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A function that runs a line in a folder, as the user of a server."""
    folder = tmp_path_factory.mktemp("agent")
    with running_server(folder / "lake") as server:
        environment = {
            "HOME": str(folder),
            "PATH": program_path(),
            "ANABRANCH_SERVER": server.url,
            "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
            "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
        }

        def run(line):
            return subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )

        for line in SETUP.splitlines():
            assert run(line).returncode == 0, line
        yield run


@pytest.fixture(scope="module")
def printed(shell):
    """What each command of the page prints, by the command."""
    outputs = {}
    for line in COMMANDS:
        ran = shell(line)
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
        outputs[line] = ran.stdout
    return outputs


def test_commands_print_what_the_table_says(printed):
    assert len(DOCUMENTS) > 10
    for name, form, fields in DOCUMENTS:
        first, _, option = name.partition(" … ")
        (line,) = [
            line
            for line in COMMANDS
            if line.startswith(f"anabranch {first} ") and special(line) == option
        ][:1]
        document = json.loads(printed[line])
        assert isinstance(document, list if form == "list" else dict), name
        named = set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", fields)))
        first_item = document[0] if form == "list" else document
        assert named <= first_item.keys(), name


def special(line):
    """Returns the option of a command that changes what it prints."""
    return next((word for word in shlex.split(line) if word in {"--rows", "--dry-run"}), "")


@pytest.mark.usefixtures("printed")
def test_the_merge_brought_the_rows_to_main(shell):
    assert shell("anabranch fs cat lakefs://flights/main/may.csv").stdout == "id,delay\n1,5\n2,3\n"


@pytest.mark.usefixtures("printed")
@pytest.mark.parametrize(
    ("line", "kind", "code"),
    [
        ("anabranch nonsense --json", "usage", 2),
        ("anabranch fs cat lakefs://flights/main/none.csv --json", "not_found", 1),
        (
            "anabranch branch create lakefs://flights/main --source lakefs://flights/main --json",
            "",
            1,
        ),
        ("anabranch merge lakefs://flights/fix-delays main --json", "no_changes", 1),
        ("anabranch fs rm lakefs://flights/main/may.csv --json", "protected_branch", 1),
        ("ANABRANCH_SECRET_ACCESS_KEY=wrong anabranch identity --json", "unauthenticated", 1),
        ("ANABRANCH_SERVER=http://127.0.0.1:9 anabranch identity --json", "unreachable", 1),
    ],
)
def test_errors_are_json_with_the_kinds_of_the_table(shell, line, kind, code):
    ran = shell(line)
    assert ran.returncode == code
    error = json.loads(ran.stderr)["error"]
    assert error["kind"] == (kind or "already_exists")
    assert {"message", "hint"} <= error.keys()
    assert re.search(rf"^\| .*`{error['kind']}`.* \| ", PAGE, re.MULTILINE)


def test_the_kinds_of_the_table_are_those_of_the_code():
    table = PAGE[PAGE.index("| Kind | What to do |") :]
    kinds = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)))
    sources = [ROOT / "src/anabranch" / folder for folder in ("cli", "client", "errors")]
    text = "".join(file.read_text() for folder in sources for file in folder.rglob("*.py"))
    assert [kind for kind in kinds if f'"{kind}"' not in text] == []
