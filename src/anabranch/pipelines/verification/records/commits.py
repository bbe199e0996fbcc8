"""The check of commits: their ids, their parents and their generations."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.versioning.commits.commit_records import commit_digest

__all__ = ["CHECK", "check_commits"]

CHECK = "commits"


def check_commits(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields what is wrong with the commits of all repositories. Memory grows with the number of
    commits of one repository.
    """
    progress.begin("checking commits", 0)
    for repository in inspected.repositories:
        generations = {commit.id: commit.generation for _, commit in inspected.commits(repository)}
        for _, commit in inspected.commits(repository):
            yield from _check(repository, commit, generations)
            progress.advance(1)


def _check(
    repository: Repository, commit: Commit, generations: dict[str, int]
) -> Iterator[Finding]:
    subject = f"{repository.id} {commit.id}"
    digest = commit_digest(commit) or "none, because a text is not UTF-8"
    if digest != commit.id:
        yield Finding(
            *(CHECK, "commit_id", subject),
            f"the commit's id is not the digest of its content, which is {digest}",
        )
    for parent in commit.parents:
        if parent not in generations:
            yield Finding(
                *(CHECK, "parent_missing", subject),
                f"the record of the parent {parent} is missing",
            )
        elif commit.generation and commit.generation <= generations[parent]:
            yield Finding(
                *(CHECK, "commit_generation", subject),
                f"the generation {commit.generation} is not greater than that of the parent "
                f"{parent}, {generations[parent]}",
            )
