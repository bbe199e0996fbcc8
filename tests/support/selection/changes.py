"""The files that differ from a commit, as git lists them."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["changed_files"]


def changed_files(root: Path, base: str) -> list[str]:
    """Returns the paths, relative to `root`, of files that differ from the merge base of `base` and
    HEAD: committed since, changed, removed or new, without those that git ignores.

    Raises `SystemExit` if git knows no such commit.
    """
    since = _git(root, "merge-base", base, "HEAD")[0]
    changed = _git(root, "diff", "--name-only", "--no-renames", "-z", since)
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    # a link to a folder, such as an environment, is no change
    return sorted(path for path in {*changed, *untracked} if not (root / path).is_dir())


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, check=False, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return [name for name in done.stdout.replace("\n", "\0").split("\0") if name]
