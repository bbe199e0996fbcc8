"""The checklist of a release, run in a repository with a small Makefile of its own."""

import subprocess
import sys

import pytest
from support.checkout import GIT, ROOT, commit, init_repository, run_git

TOOL = ROOT / "tools/release.py"
MAKEFILE = """\
check: ## note that it ran
\techo check >>ran
test: ## likewise
\techo test >>ran
test-systems: ## likewise
\techo test-systems >>ran
"""

pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path):
    init_repository(tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "web").mkdir()
    files = {
        ".gitignore": "ran\n",
        "Makefile": MAKEFILE,
        "CHANGELOG.md": "# Changelog\n\n## 0.2.0\n\n### cli\n\n- draw the log\n",
        "pyproject.toml": '[project]\nname = "anabranch"\nversion = "0.2.0"\n',
        "kernel/Cargo.toml": '[workspace.package]\nversion = "0.0.0"\n',
        "web/package.json": '{"private": true}\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    commit(tmp_path, "make: begin")
    return tmp_path


def release(repository, *arguments):
    return subprocess.run(
        [sys.executable, TOOL, *arguments],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )


def commands_run(repository):
    path = repository / "ran"
    return path.read_text().split() if path.exists() else []


def test_dry_run_runs_checks_and_tests_and_creates_no_tag(repository):
    finished = release(repository, "0.2.0")
    assert finished.returncode == 0, finished.stdout
    assert commands_run(repository) == ["check", "test", "test-systems"]
    assert "make dist: the Makefile has no such command" in finished.stdout
    assert run_git(repository, "tag") == ""


def test_tag_is_annotated_with_the_section(repository):
    assert release(repository, "0.2.0", "--tag").returncode == 0
    assert run_git(repository, "cat-file", "-t", "v0.2.0") == "tag\n"
    message = run_git(repository, "tag", "--list", "--format=%(contents)", "v0.2.0")
    assert message.strip() == "Anabranch 0.2.0\n\n### cli\n\n- draw the log"


def test_skipped_tests_are_named(repository):
    finished = release(repository, "0.2.0", "--skip-tests")
    assert finished.returncode == 0
    assert "skipped   make check test test-systems" in finished.stdout
    assert commands_run(repository) == []


def test_dist_is_built_where_the_makefile_has_it(repository):
    with (repository / "Makefile").open("a") as makefile:
        makefile.write("dist: ## note that it ran\n\techo dist >>ran\n")
    commit(repository, "make: build artefacts")
    assert release(repository, "0.2.0", "--skip-tests").returncode == 0
    assert commands_run(repository) == ["dist"]


def uncommitted(repository):
    (repository / "new.txt").write_text("not committed")


def on_a_branch(repository):
    run_git(repository, "checkout", "-q", "-b", "side")


def tagged(repository):
    run_git(repository, "tag", "v0.2.0")


def other_version(repository):
    (repository / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n')
    commit(repository, "packaging: another version")


def other_version_of_the_kernel(repository):
    (repository / "kernel/Cargo.toml").write_text('[workspace.package]\nversion = "0.1.0"\n')
    commit(repository, "kernel: another version")


def other_version_of_the_web(repository):
    (repository / "web/package.json").write_text('{"version": "0.1.0"}')
    commit(repository, "web: another version")


def no_section(repository):
    (repository / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0\n\n## 0.1.0\n\n- First.\n")
    commit(repository, "changelog: say nothing")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (uncommitted, "not committed: new.txt"),
        (on_a_branch, "this is side; releases are of main"),
        (tagged, "v0.2.0 exists"),
        (other_version, "pyproject.toml has 0.1.0"),
        (other_version_of_the_kernel, "kernel/Cargo.toml has 0.1.0"),
        (other_version_of_the_web, "web/package.json has 0.1.0"),
        (no_section, "tools/changelog.py 0.2.0 --write drafts one"),
    ],
)
def test_problem_is_named_before_anything_runs(repository, spoil, problem):
    spoil(repository)
    tags = run_git(repository, "tag")
    finished = release(repository, "0.2.0", "--tag")
    assert finished.returncode == 1
    assert f"{problem}\n" in finished.stdout
    assert finished.stdout.count("FAILED") == 1
    assert commands_run(repository) == []
    assert run_git(repository, "tag") == tags


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("recipe", "problem"),
    [("test: ## fail\n\tfalse\n", "make test: exit code 2"), ("", "make test: the Makefile has")],
)
def test_failed_or_missing_command_prevents_the_tag(repository, recipe, problem):
    makefile = MAKEFILE.replace("test: ## likewise\n\techo test >>ran\n", recipe)
    (repository / "Makefile").write_text(makefile)
    commit(repository, "make: break a command")
    finished = release(repository, "0.2.0", "--tag")
    assert finished.returncode == 1
    assert problem in finished.stdout
    assert commands_run(repository) == ["check"]
    assert run_git(repository, "tag") == ""


def test_command_that_changes_a_tracked_file_prevents_the_tag(repository):
    makefile = MAKEFILE.replace("echo test-systems >>ran", "echo changed >web/package.json")
    (repository / "Makefile").write_text(makefile)
    commit(repository, "make: change a file")
    finished = release(repository, "0.2.0", "--tag")
    assert finished.returncode == 1
    assert "FAILED    nothing changed meanwhile: not committed: web/package.json" in finished.stdout
    assert run_git(repository, "tag") == ""


@pytest.mark.sample(1)
@pytest.mark.parametrize("version", ["v0.2.0", "0.2", "0.2.0rc1", "latest"])
def test_version_is_three_numbers(repository, version):
    refused = release(repository, version, "--tag")
    assert refused.returncode == 2
    assert "a version is three numbers such as 0.2.0" in refused.stderr
