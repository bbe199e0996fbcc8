"""Sections of the changelog, drafted from the commits of a real repository."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.checkout import GIT, ROOT, commit, init_repository, run_git

TOOL = ROOT / "tools/changelog.py"

pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path):
    init_repository(tmp_path)
    commit(tmp_path, "blocks: store objects in a folder")
    run_git(tmp_path, "tag", "--annotate", "v0.1.0", "--message", "0.1.0")
    return tmp_path


def changelog(repository, *arguments):
    return subprocess.run(
        [sys.executable, TOOL, *arguments],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )


def test_section_lists_the_commits_since_the_last_tag_by_area(repository):
    commit(repository, "s3: list versions")
    commit(repository, "cli: draw the log")
    commit(repository, "s3: refuse keys that are too long")
    assert changelog(repository, "0.2.0").stdout == (
        "## 0.2.0\n\n"
        "### cli\n\n- draw the log\n\n"
        "### s3\n\n- list versions\n- refuse keys that are too long\n"
    )


def test_subjects_without_an_area_come_last_and_merges_are_left_out(repository):
    run_git(repository, "checkout", "-q", "-b", "side")
    commit(repository, "Names are shorter: everywhere")
    run_git(repository, "checkout", "-q", "main")
    commit(repository, "web: sort by size")
    run_git(repository, "merge", "-q", "--no-ff", "side", "-m", "Merge branch 'side'")
    assert changelog(repository, "0.2.0").stdout == (
        "## 0.2.0\n\n### web\n\n- sort by size\n\n### other\n\n- Names are shorter: everywhere\n"
    )


def test_commits_that_users_never_meet_are_counted(repository):
    commit(repository, "tests: wait for conditions")
    commit(repository, "tests, rest: send the date in UTC")
    assert changelog(repository, "0.2.0").stdout == (
        "## 0.2.0\n\n### rest\n\n- send the date in UTC\n\n"
        "And 1 commit to tests, measurements and tools.\n"
    )


def test_write_puts_the_section_above_the_others(repository):
    path = repository / "CHANGELOG.md"
    path.write_text("# Changelog\n\nAll of it.\n\n## 0.1.0\n\n- The first.\n")
    commit(repository, "cli: draw the log")
    assert changelog(repository, "0.2.0", "--write").returncode == 0
    assert path.read_text() == (
        "# Changelog\n\nAll of it.\n\n## 0.2.0\n\n### cli\n\n- draw the log\n\n"
        "## 0.1.0\n\n- The first.\n"
    )


def test_write_of_an_existing_section_changes_nothing(repository):
    path = repository / "CHANGELOG.md"
    path.write_text("# Changelog\n\n## 0.2.0\n\n- By hand.\n")
    commit(repository, "cli: draw the log")
    refused = changelog(repository, "0.2.0", "--write")
    assert refused.returncode == 1
    assert "has a section of 0.2.0 already" in refused.stderr
    assert path.read_text() == "# Changelog\n\n## 0.2.0\n\n- By hand.\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["0.2.0"], "no commits since the last version"),
        (["0.2.0", "--since", "v0.0.9"], "bad revision"),
    ],
)
def test_nothing_to_draft_from_is_an_error(repository, arguments, problem):
    refused = changelog(repository, *arguments)
    assert refused.returncode == 1
    assert problem in refused.stderr
    assert refused.stdout == ""


def test_first_version_has_no_tag_to_start_from(tmp_path):
    init_repository(tmp_path)
    commit(tmp_path, "cli: draw the log")
    refused = changelog(tmp_path, "0.1.0")
    assert refused.returncode == 1
    assert "write the first section by hand" in refused.stderr


def test_changelog_has_a_section_of_the_version_of_this_checkout():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = Path(ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert f"## {project['version']}" in lines
