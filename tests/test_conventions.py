"""Conventions of the whole project: file sizes and names, no paths of a machine, valid links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_LINES = 500
GENERATED = ("_pb2.py", "_pb2.pyi")


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]


def sources() -> list[Path]:
    return [
        path
        for path in tracked(
            "*.py", "*.pyi", "*.rs", "*.go", "*.ts", "*.js", "*.mjs", "*.svelte", "*.css"
        )
        if not path.name.endswith(GENERATED)
    ]


def test_sources_are_found():
    assert len(sources()) > 50


def test_source_files_have_at_most_500_lines():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources()
    }
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_module_names_name_a_concept():
    nameless = re.compile(r"(utils?|helpers?|manager|common|misc)\.(py|rs|ts|svelte)$")
    assert [path.name for path in sources() if nameless.search(path.name)] == []


def test_no_file_names_a_registry_or_this_machine():
    # joined from parts, so that this file does not match itself
    index, links, resolved = (
        "--(extra-)?index" + "-url",
        "--find" + "-links",
        '"resolved": *"' + "http",
    )
    machine = "/(wor" + "k|roo" + "t)/[A-Za-z0-9_.]"
    pattern = re.compile(f"{index}|{links}|{resolved}|{machine}".encode())
    found = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.is_file() and pattern.search(path.read_bytes())
    ]
    assert found == []


def test_links_between_documents_are_valid():
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in tracked("*.md")
        for target in link.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert broken == []
