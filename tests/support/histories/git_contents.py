"""A repository's commits with their contents rebuilt in git, to compare what both make of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["GitContents", "GitRebase"]

_IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false")
# git's newer strategy detects renames although this is disabled, before git 2.50
_REBASE = ("--empty=drop", "--no-stat", "--strategy=recursive", "-Xno-renames")


class GitRebase(NamedTuple):
    """The contents after a rebase, and the ids of the original commits that are on top of the new
    base, oldest first.
    """

    contents: dict[str, str]
    origins: list[str]


class GitContents:
    """A bare git repository in `folder` with the commits and contents of a repository's fixture.
    `names` has git's name of each commit, `ids` the reverse. A commit's message is its id.
    """

    def __init__(self, folder: Path, versions: Any) -> None:
        self.folder = folder
        subprocess.run(["git", "init", "--quiet", "--bare", folder], check=True)
        self.names: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        commits = sorted(versions.core.commits.all(versions.repository), key=lambda c: c.generation)
        marks = {commit.id: number for number, commit in enumerate(commits, 1)}
        lines = []
        for commit in commits:
            lines += ["reset refs/heads/x", ""] if not commit.parents else []
            lines += ["commit refs/heads/x", f"mark :{marks[commit.id]}"]
            lines += [f"committer a <a@b> {commit.creation_date} +0000", f"data {len(commit.id)}"]
            lines.append(commit.id)
            for number, parent in enumerate(commit.parents):
                lines.append(f"{'merge' if number else 'from'} :{marks[parent]}")
            lines.append("deleteall")
            for path, word in versions.contents(commit.id).items():
                lines += [f"M 644 inline {path}", f"data {len(word)}", word]
        text = "\n".join([*lines, ""])
        self.run("fast-import", "--quiet", "--force", f"--export-marks={folder}/m", text=text)
        for line in (folder / "m").read_text().splitlines():
            mark, name = line.split()
            commit = commits[int(mark[1:]) - 1]
            self.names[commit.id], self.ids[name] = name, commit.id

    def rebase(self, head: str, onto: str, work_tree: Path) -> GitRebase | None:
        """Returns the result of `git rebase` of one commit onto another, in a new work tree; None
        if git finds a conflict.
        """
        names = self.names[onto], self.names[head]
        self.run("worktree", "add", "--quiet", "--detach", str(work_tree), names[1])
        options = ["-c", "rebase.backend=merge"]
        ran = subprocess.run(
            ["git", *_IDENTITY, *options, "rebase", "--quiet", *_REBASE, names[0]],
            cwd=work_tree,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            assert "CONFLICT" in ran.stdout, ran.stdout + ran.stderr
            return None
        contents = {
            str(path.relative_to(work_tree)): path.read_text()
            for path in work_tree.rglob("*")
            if path.is_file() and path.name != ".git"
        }
        command = ["git", "log", "--reverse", "--topo-order", "--format=%s", f"{names[0]}..HEAD"]
        ran = subprocess.run(command, cwd=work_tree, capture_output=True, text=True, check=True)
        return GitRebase(contents, ran.stdout.split())

    def last_change(self, commit_id: str, path: str) -> str:
        """Returns the id of the last commit that changed a path, by `git log`."""
        name = self.run("log", "-1", "--format=%H", self.names[commit_id], "--", path).strip()
        return self.ids[name]

    def run(self, *arguments: str, text: str = "") -> str:
        """Returns the output of a git command on the repository."""
        command = ["git", f"--git-dir={self.folder}", *arguments]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        return ran.stdout
