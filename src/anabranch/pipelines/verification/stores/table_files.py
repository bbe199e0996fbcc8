"""Tables as they are in the store: local files that are not taken from a cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import missing_table
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import AnabranchError, Gone
from anabranch.files.work_folders import WorkFolder
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.verification.findings import Finding
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["missing_finding", "stored_table", "table_finding", "table_problem"]

CHECK = "tables"


@contextmanager
def stored_table(blocks: BlockStore, repository: Repository, table_id: str) -> Iterator[str]:
    """Yields the path of a table of a repository: in a local store that of the block itself, else
    of a copy that is removed when the context ends. Raises Gone.
    """
    address = table_address(repository.storage_namespace, table_id)
    local = blocks.local_path(address)
    if local is not None:
        if not Path(local).exists():
            raise missing_table(address)
        yield local
        return
    with WorkFolder("fsck") as folder:
        path = Path(folder, table_id)
        try:
            with path.open("wb") as file:
                for piece in blocks.get(address):
                    file.write(piece)
        except Gone as error:
            raise missing_table(address) from error
        yield str(path)


def table_problem(path: str, table_id: str) -> str:
    """Returns what is wrong with the table in a file, which is read whole; empty if nothing is."""
    try:
        with translate_errors():
            actual = kernel.verify_table(path)
    except AnabranchError as error:
        return f"it is damaged: {error.message}"
    return "" if actual == table_id else f"it has the content of {actual}"


def table_finding(
    repository: Repository, table_id: str, needed_by: str, problem: str, kind: str = "table_damaged"
) -> Finding:
    """Returns the finding of a problem with a table that a commit needs."""
    message = f"a table that commit {needed_by} needs: {problem}"
    return Finding(CHECK, kind, f"{repository.id} {table_id}", message)


def missing_finding(repository: Repository, table_id: str, needed_by: str) -> Finding:
    """Returns the finding of a table that is missing and that a commit needs."""
    return table_finding(repository, table_id, needed_by, "it is missing", "table_missing")
