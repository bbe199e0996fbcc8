#!/usr/bin/env python3
"""The checklist of a release. It changes nothing but with --tag, which creates the annotated tag.

    tools/release.py 0.2.0              examine everything, run the checks and tests
    tools/release.py 0.2.0 --tag        the same, then create the tag v0.2.0; you push it

The checks of the checkout take a second and are all made. Only if they pass, make's commands run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from changelog import CHANGELOG, section_of

BRANCH = "main"
COMMANDS = ("check", "test", "test-systems")
ARTEFACTS = "dist"
NO_VERSION = {None, "0.0.0"}


def main(arguments: list[str]) -> int:
    """Runs the checklist; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check a release, and tag it with --tag.")
    parser.add_argument("version")
    parser.add_argument("--tag", action="store_true", help="create the tag if all checks pass")
    parser.add_argument("--skip-tests", action="store_true", help=f"no make {' '.join(COMMANDS)}")
    given = parser.parse_args(arguments)
    if not re.fullmatch(r"\d+\.\d+\.\d+", given.version):
        parser.error(f"a version is three numbers such as 0.2.0, not {given.version!r}")
    tag = f"v{given.version}"

    passed = [report(name, check(given.version)) for name, check in CHECKS.items()]
    if not all(passed):
        return 1
    words = make_words()
    if given.skip_tests:
        print(f"skipped   make {' '.join(COMMANDS)}, because of --skip-tests")
    elif not all(report(f"make {word}", made(word, words)) for word in COMMANDS):
        return 1
    if ARTEFACTS not in words:
        print(f"skipped   make {ARTEFACTS}: the Makefile has no such command")
    elif not report(f"make {ARTEFACTS}", made(ARTEFACTS, words)):
        return 1
    if not given.tag:
        print(f"Nothing was changed. With --tag, this creates the tag {tag}.")
        return 0
    # commands may have written to tracked files
    if not report("nothing changed meanwhile", uncommitted_changes(given.version)):
        return 1
    section = section_of(Path(CHANGELOG).read_text("utf-8"), given.version)
    message = f"Anabranch {given.version}\n\n{section}\n"
    # verbatim: git would take the section's headings for comments
    git("tag", "--annotate", tag, "--cleanup=verbatim", "--message", message)
    print(f"Created {tag}. Publish it: git push origin {tag}")
    return 0


def report(name: str, problem: str) -> bool:
    """Prints the outcome of a check, and returns whether there is no problem."""
    print(f"FAILED    {name}: {problem}" if problem else f"passed    {name}", flush=True)
    return not problem


def uncommitted_changes(_version: str) -> str:
    """Returns a problem if files are changed or not tracked."""
    changes = git("status", "--porcelain").splitlines()
    return f"not committed: {', '.join(line[3:] for line in changes)}" if changes else ""


def other_branch(_version: str) -> str:
    """Returns a problem if a branch other than main is checked out."""
    branch = git("branch", "--show-current").strip()
    return "" if branch == BRANCH else f"this is {branch or 'no branch'}; releases are of {BRANCH}"


def existing_tag(version: str) -> str:
    """Returns a problem if the version has a tag already."""
    return f"v{version} exists" if git("tag", "--list", f"v{version}") else ""


def other_versions(version: str) -> str:
    """Returns a problem if pyproject.toml has another version, or if a file that needs none has."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["version"]
    workspace = tomllib.loads(Path("kernel/Cargo.toml").read_text("utf-8"))["workspace"]
    kernel = workspace["package"]["version"]
    web = json.loads(Path("web/package.json").read_text("utf-8")).get("version")
    wrong = [f"pyproject.toml has {project}"] if project != version else []
    for name, found in (("kernel/Cargo.toml", kernel), ("web/package.json", web)):
        if found not in NO_VERSION | {version}:
            wrong.append(f"{name} has {found}")
    return "; ".join(wrong)


def missing_section(version: str) -> str:
    """Returns a problem if the changelog says nothing of the version."""
    path = Path(CHANGELOG)
    if path.exists() and section_of(path.read_text("utf-8"), version):
        return ""
    return f"{CHANGELOG} has no section: tools/changelog.py {version} --write drafts one"


def make_words() -> set[str]:
    """Returns the commands that the Makefile explains."""
    makefile = Path("Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))


def made(word: str, words: set[str]) -> str:
    """Runs one of make's commands, whose output is shown; returns a problem if it fails."""
    if word not in words:
        return "the Makefile has no such command"
    status = subprocess.run(["make", word], check=False).returncode
    return f"exit code {status}" if status else ""


def git(*arguments: str) -> str:
    """Returns what a git command prints."""
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


CHECKS: dict[str, Callable[[str], str]] = {
    "nothing uncommitted": uncommitted_changes,
    f"on {BRANCH}": other_branch,
    "no such tag": existing_tag,
    "one version": other_versions,
    f"section of {CHANGELOG}": missing_section,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
