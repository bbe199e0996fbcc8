#!/usr/bin/env python3
"""Drafts a version's section of CHANGELOG.md from the commit subjects since the last tag.

Subjects are `area: what changed`. A section lists them by area, oldest first. Commits of areas that
users never meet, such as `tests`, are counted and not listed.

    tools/changelog.py 0.2.0            print the section
    tools/changelog.py 0.2.0 --write    put it into CHANGELOG.md, above the others
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

CHANGELOG = "CHANGELOG.md"
INTERNAL = frozenset({"benchmarks", "changelog", "ci", "make", "release", "tests", "tools"})
OTHER = "other"
_SUBJECT = re.compile(r"(?P<areas>[a-z0-9_.-]+(, [a-z0-9_.-]+)*): (?P<change>\S.*)")


def main(arguments: list[str]) -> int:
    """Prints or writes a section; returns the exit code."""
    parser = argparse.ArgumentParser(description="Draft a section of CHANGELOG.md.")
    parser.add_argument("version")
    parser.add_argument("--since", help="a reference; default: the newest tag v* before HEAD")
    parser.add_argument("--write", action="store_true", help=f"write it into {CHANGELOG}")
    given = parser.parse_args(arguments)
    try:
        subjects = subjects_since(given.since or last_tag())
        section = draft(given.version, subjects)
        if given.write:
            path = Path(CHANGELOG)
            path.write_text(inserted(path.read_text("utf-8"), given.version, section), "utf-8")
        else:
            print(section, end="")
    except (LookupError, ValueError, OSError) as error:
        print(f"changelog: {error}", file=sys.stderr)
        return 1
    return 0


def last_tag() -> str:
    """Returns the newest version tag before HEAD. Raises LookupError if there is none."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)
    if described.returncode:
        raise LookupError("no version has a tag: write the first section by hand, or give --since")
    return described.stdout.strip()


def subjects_since(reference: str) -> list[str]:
    """Returns the subjects of the commits after `reference`, oldest first, without merges. Raises
    LookupError if there is no such reference.
    """
    command = ["git", "log", "--no-merges", "--reverse", "--format=%s", f"{reference}..HEAD", "--"]
    logged = subprocess.run(command, capture_output=True, text=True, check=False)
    if logged.returncode:
        raise LookupError(logged.stderr.strip())
    return logged.stdout.splitlines()


def draft(version: str, subjects: list[str]) -> str:
    """Returns the section of a version. Raises ValueError if there is nothing to tell."""
    if not subjects:
        raise ValueError(f"no commits since the last version: {version} would be the same")
    changes: dict[str, list[str]] = {}
    internal = 0
    for subject in subjects:
        area, change = classify(subject)
        if area in INTERNAL:
            internal += 1
        else:
            changes.setdefault(area, []).append(change)
    lines = [f"## {version}", ""]
    for area in sorted(changes, key=lambda name: (name == OTHER, name)):
        lines += [f"### {area}", "", *(f"- {change}" for change in changes[area]), ""]
    if internal:
        commits = "1 commit" if internal == 1 else f"{internal} commits"
        lines += [f"And {commits} to tests, measurements and tools.", ""]
    return "\n".join(lines)


def classify(subject: str) -> tuple[str, str]:
    """Returns the area of a commit and what changed. Of several areas, the first one that users
    meet counts; a subject without an area is `other`.
    """
    match = _SUBJECT.fullmatch(subject)
    if match is None:
        return OTHER, subject
    areas = match["areas"].split(", ")
    return next((area for area in areas if area not in INTERNAL), areas[0]), match["change"]


def inserted(text: str, version: str, section: str) -> str:
    """Returns the changelog with a new section above the others. Raises ValueError if it has one of
    this version already.
    """
    if section_of(text, version):
        raise ValueError(f"{CHANGELOG} has a section of {version} already")
    head, newest, rest = text.partition("\n## ")
    return f"{head.rstrip()}\n\n{section.rstrip()}\n{newest}{rest}"


def section_of(text: str, version: str) -> str:
    """Returns what a changelog says of a version, without the heading; empty if it says nothing."""
    heading = rf"^## {re.escape(version)}$\n(.*?)(?=^## |\Z)"
    match = re.search(heading, text, re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
