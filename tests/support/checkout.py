"""This checkout, and repositories of git that tests make."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["GIT", "ROOT", "commit", "init_repository", "run_git"]

ROOT = Path(__file__).parent.parent.parent
GIT = shutil.which("git")


def run_git(repository: Path, *arguments: str) -> str:
    """Returns what a git command prints in a repository."""
    return subprocess.run(
        [str(GIT), *arguments], cwd=repository, check=True, capture_output=True, text=True
    ).stdout


def init_repository(folder: Path) -> None:
    """Makes an empty repository on the branch main, with an author of its own."""
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "config", "user.name", "Ada")
    run_git(folder, "config", "user.email", "ada@example.com")
    run_git(folder, "config", "commit.gpgsign", "false")
    run_git(folder, "config", "tag.gpgsign", "false")


def commit(repository: Path, subject: str) -> None:
    """Commits everything in the folder, even if nothing changed."""
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "-q", "--allow-empty", "-m", subject)
