"""Histories rebuilt in a real git repository, to ask git what it says of them.

One `git fast-import` takes in all histories of a batch, and most questions are answered many at a
time by one git process, so that thousands cost seconds.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from anabranch.model.commits.commit import Commit
from anabranch.testing.histories import History

__all__ = ["GitMirror"]

_ARGUMENTS_A_PROCESS = 5000


class GitMirror:
    """The commits of some histories, by the same ids, in a bare git repository in `folder`.

    The ids of commits must differ between the histories: give them different labels.
    """

    def __init__(self, folder: Path, histories: Iterable[History]) -> None:
        self._folder = folder
        subprocess.run(["git", "init", "--quiet", "--bare", "--template=", folder], check=True)
        ids = [commit_id for history in histories for commit_id in history.ids]
        marks = {commit_id: number for number, commit_id in enumerate(ids, 1)}
        commits = (history[commit_id] for history in histories for commit_id in history.ids)
        stream = b"".join(_import_command(commit, marks) for commit in commits)
        marks_file = folder / "marks"
        self._git("fast-import", "--quiet", "--force", f"--export-marks={marks_file}", text=stream)
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        for line in marks_file.read_text().splitlines():
            mark, name = line.split()
            self._names[ids[int(mark[1:]) - 1]] = name
            self._ids[name] = ids[int(mark[1:]) - 1]

    def merge_bases(self, pairs: Sequence[tuple[str, str]]) -> Iterator[list[str]]:
        """Yields the best common ancestors of each pair, all of them.

        `git rev-parse A...B` names A, B and, behind a circumflex each, what
        `git merge-base --all A B` names; unlike that it takes many pairs at once.
        """
        for begin in range(0, len(pairs), _ARGUMENTS_A_PROCESS):
            batch = pairs[begin : begin + _ARGUMENTS_A_PROCESS]
            ranges = [f"{self._names[left]}...{self._names[right]}" for left, right in batch]
            answers: list[list[str]] = []
            heads = 0
            for name in self._git("rev-parse", *ranges).split():
                if name.startswith("^"):
                    answers[-1].append(self._ids[name[1:]])
                else:
                    if heads % 2 == 0:
                        answers.append([])
                    heads += 1
            yield from answers

    def merge_base_all(self, left: str, right: str) -> list[str]:
        """Returns what `git merge-base --all` names."""
        found = self._git("merge-base", "--all", self._names[left], self._names[right])
        return [self._ids[name] for name in found.split()]

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Returns what `git merge-base --is-ancestor` says."""
        names = self._names[ancestor], self._names[descendant]
        command = ["git", f"--git-dir={self._folder}", "merge-base", "--is-ancestor", *names]
        return subprocess.run(command, check=False).returncode == 0

    def resolve(self, expressions: Sequence[tuple[str, str]]) -> list[str | None]:
        """Returns the commit that each pair of an id and modifiers names, None where git finds
        none.
        """
        asked = "".join(f"{self._names[base]}{modifiers}\n" for base, modifiers in expressions)
        answers = self._git("cat-file", "--batch-check", text=asked.encode()).splitlines()
        return [
            None if answer.endswith(" missing") else self._ids[answer.split()[0]]
            for answer in answers
        ]

    def log(self, commit_id: str, *options: str) -> list[str]:
        """Returns the ids that `git rev-list` lists from a commit."""
        names = self._git("rev-list", *options, self._names[commit_id])
        return [self._ids[name] for name in names.split()]

    def range(self, base: str, head: str, *options: str) -> list[str]:
        """Returns the ids that `git rev-list` lists from one commit and not from another."""
        names = self._git("rev-list", *options, f"{self._names[base]}..{self._names[head]}")
        return [self._ids[name] for name in names.split()]

    def bisection_distances(self, good: str, bad: str) -> dict[str, int]:
        """Returns the commits that `git rev-list --bisect-all` lists, with their distances."""
        names = f"^{self._names[good]}", self._names[bad]
        lines = self._git("rev-list", "--bisect-all", *names).splitlines()
        return {
            self._ids[line[:40]]: int(line.rpartition("dist=")[2].rstrip(")")) for line in lines
        }

    def _git(self, *arguments: str, text: bytes = b"") -> str:
        command = ["git", f"--git-dir={self._folder}", *arguments]
        return subprocess.run(command, input=text, capture_output=True, check=True).stdout.decode()


def _import_command(commit: Commit, marks: dict[str, int]) -> bytes:
    message = commit.id.encode()
    lines = [
        *([] if commit.parents else [b"reset refs/heads/last", b""]),
        b"commit refs/heads/last",
        b"mark :%d" % marks[commit.id],
        b"committer test <test@example.com> %d +0000" % commit.creation_date,
        b"data %d" % len(message),
        message,
        *(
            b"%s :%d" % (b"merge" if number else b"from", marks[parent])
            for number, parent in enumerate(commit.parents)
        ),
        b"",
    ]
    return b"\n".join(lines) + b"\n"
