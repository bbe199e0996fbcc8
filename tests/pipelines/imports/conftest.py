"""A lake that may import from a folder outside of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.imports.commit_import import ImportRequest

TIMEOUT_SECONDS = 60


@pytest.fixture
def import_folder(tmp_path: Path) -> Path:
    """The folder that may be imported from."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def lake(tmp_path: Path, import_folder: Path) -> Iterator[Lake]:
    """A lake with the empty repository `sea`."""
    blocks = LocalBlocks(
        tmp_path / "blocks", import_enabled=True, external_prefixes=[str(import_folder)]
    )
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


@pytest.fixture
def fill(import_folder: Path) -> Callable[..., None]:
    """Writes files into the folder `outside`, each with its path as its content."""

    def fill(*paths: str) -> None:
        for path in paths:
            (import_folder / path).parent.mkdir(parents=True, exist_ok=True)
            (import_folder / path).write_text(path)

    return fill


@pytest.fixture
def start(lake: Lake, import_folder: Path) -> Callable[..., str]:
    """Starts an import of (path in the folder, destination) pairs; a path without a trailing slash
    is a single file.
    """

    def start(*paths: tuple[str, str], branch: str = "main", **fields) -> str:
        sources = [
            ImportSource(
                type="common_prefix" if not path or path.endswith("/") else "object",
                path=f"local://{import_folder}/{path}",
                destination=destination,
            )
            for path, destination in paths
        ]
        request = ImportRequest(branch=branch, sources=sources, committer="tester", **fields)
        return lake.imports.start("sea", request)

    return start


@pytest.fixture
def ended(lake: Lake) -> Callable[..., JobStatus]:
    """Waits until an import has ended and returns its state."""

    def ended(import_id: str, lake: Lake = lake) -> JobStatus:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            status = lake.imports.status("sea", "main", import_id)
            if status.ended:
                return status
            assert time.monotonic() < deadline, status
            time.sleep(0.005)

    return ended


@pytest.fixture
def listed(lake: Lake) -> Callable[..., dict[str, str]]:
    """Returns the physical addresses of all objects at a reference, by path."""

    def listed(reference: str = "main") -> dict[str, str]:
        repository = lake.core.repositories.get("sea")
        commit = lake.core.references.commit(repository, reference)
        tree = lake.core.trees.open(repository, commit.metarange_id)
        from anabranch import _kernel as kernel
        from anabranch.pipelines.imports.merge_sorted_runs import decode_records

        return {
            key.decode(): kernel.decode_entry(data)[0] for key, (_, data) in decode_records(tree)
        }

    return listed
