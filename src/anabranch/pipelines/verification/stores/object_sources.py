"""What the check of objects needs of the references: read first, so that it keeps no snapshot while
it reads the store, which may take hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.errors import AnabranchError
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.stores.entries import AreaSource
from anabranch.pipelines.verification.stores.needed_objects import distinct_roots
from anabranch.pipelines.verification.stores.required_trees import required_trees

__all__ = ["ObjectSources", "RepositoryTrees", "read_sources"]


class RepositoryTrees(NamedTuple):
    """The trees of a repository's commits, mapped to a commit that has each, and those of them
    whose objects must exist.
    """

    repository: Repository
    trees: Mapping[str, str]
    required: set[str]


class ObjectSources(NamedTuple):
    """The trees of all repositories, the staging areas, and the prefixes of the storage namespaces,
    also of deleted repositories, whose objects others may share.
    """

    repositories: Sequence[RepositoryTrees]
    areas: Sequence[AreaSource]
    roots: Sequence[str]


def read_sources(
    inspected: Inspected,
    folder: Path,
    progress: Progress,
    required_by: Mapping[str, set[str]] | None = None,
) -> ObjectSources:
    """Returns the sources; staged changes are written to tables below a folder. Those that cannot
    be read are left out: the check of records names them. `required_by` has the trees whose objects
    must exist by the partition of their repository; by default they are found out.
    """
    repositories = []
    for repository in inspected.repositories:
        trees = {
            commit.metarange_id: commit.id
            for _, commit in inspected.commits(repository)
            if commit.metarange_id != kernel.EMPTY_TREE_ID
        }
        if required_by is None:
            required = required_trees(inspected.core, repository, inspected.now)
        else:
            required = required_by.get(repository.partition, set())
        repositories.append(RepositoryTrees(repository, trees, required))
    namespaces = [each.storage_namespace for each in inspected.repositories]
    namespaces += inspected.left_namespaces()
    roots = distinct_roots(f"{namespace.rstrip('/')}/" for namespace in namespaces)
    return ObjectSources(repositories, list(_areas(inspected, folder, progress)), roots)


def _areas(inspected: Inspected, folder: Path, progress: Progress) -> Iterator[AreaSource]:
    progress.begin("reading staged changes", 0)
    folder.mkdir()
    trees = inspected.core.trees
    for number, (token, repository, owner) in enumerate(inspected.areas()):
        if not inspected.rows.get(token):
            continue
        own = folder / str(number)
        own.mkdir()
        empty = trees.open(repository, kernel.EMPTY_TREE_ID)
        try:
            written = empty.apply_staged(inspected.core.staging.rows([token]), str(own))
        except (AnabranchError, kernel.KernelError, pa.ArrowInvalid, ValueError):
            continue
        progress.advance(1)
        yield AreaSource(repository, token, owner, str(own), written.metarange_id, written.count)
