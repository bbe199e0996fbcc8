"""Sample data for a new repository: a few small files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.sample.lakes import lakes_table
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core

__all__ = ["upload"]

_README = """# A sample repository

These files are here to be played with. In the web interface:

1. **Branch**: *Branches*, *Create branch*: `try`, from `main`. Nothing is copied.
2. **Change**: *Data* shows `try`. Download `data/rivers.csv`, change a length, and *Upload* it into
   `data` again. `main` stays as it is.
3. **Compare rows**: *Changes* shows what differs, row by row, or lines if the server cannot query.
4. **Commit** it there, with a message that says why.
5. **Merge**: *Compare* has `main` and `try` side by side; *Merge…* brings your change to `main`,
   all of it or nothing. *Settings* protects branches; *Actions* shows checks that examine merges.
6. **Undo**: *History* of `main`, the menu of the merge, *Revert on a branch*. The data are what
   they were, and the history tells that they were something else.

The same by command line, where a branch is thrown away again:

    anabranch branch create lakefs://{name}/try --source lakefs://{name}/main
    anabranch fs rm lakefs://{name}/try/data/rivers.csv
    anabranch diff lakefs://{name}/try
    anabranch branch delete lakefs://{name}/try --yes

`lakes.parquet` has about two hundred lakes, each with its country and mean depth in metres. Count
them by country with any engine that reads S3, here DuckDB:

    SELECT Country, count(*) FROM read_parquet('s3://{name}/main/lakes.parquet')
    GROUP BY Country ORDER BY count(*) DESC LIMIT 5;

`data/` has a few rivers, and arms of rivers that leave the stream and join it again further down,
which is what an anabranch is: `images/anabranch.svg` draws one.
"""

_DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 160">
  <title>A river with an anabranch</title>
  <g fill="none" stroke="#2a6f97" stroke-linecap="round">
    <path stroke-width="14" d="M10 100 C 90 60, 170 130, 250 100 S 350 80, 390 100"/>
    <path stroke-width="8" d="M90 88 C 130 20, 240 20, 290 92"/>
  </g>
</svg>
"""

# length in km, mouth: the longest river systems, as atlases list them
_RIVERS = [
    ("river", "length_km", "mouth"),
    ("Amazon", 6400, "Atlantic Ocean"),
    ("Nile", 6650, "Mediterranean Sea"),
    ("Yangtze", 6300, "East China Sea"),
    ("Mississippi", 6275, "Gulf of Mexico"),
    ("Yenisei", 5539, "Kara Sea"),
]
_ARMS = [
    ("river", "anabranch", "rejoins"),
    ("Murray", "Edward River", "Wakool Junction"),
    ("Niger", "Diaka", "Lake Debo"),
    ("Paraná", "Paraná Bravo", "Río de la Plata"),
]


def upload(core: Core, blocks: BlockStore, repository: Repository, committer: str) -> None:
    """Uploads the sample files to the default branch and commits them."""
    for path, content_type, body in _files(repository.id):
        address = core.identifiers.data_address()
        stored = blocks.put(
            f"{repository.storage_namespace.rstrip('/')}/{address}", [body], unique_address=True
        )
        entry = Entry(
            address=address,
            size=stored.size,
            mtime=stored.mtime,
            checksum=stored.checksum,
            content_type=content_type,
        )
        core.changes.put(repository, repository.default_branch, path, entry)
    change: BranchChange[Commit] = BranchChange(
        repository=repository,
        branch=repository.default_branch,
        fields=CommitFields(committer, "Add sample data"),
    )
    core.staged_commits.commit(change)


def _files(name: str) -> Iterator[tuple[str, str, bytes]]:
    yield "README.md", "text/markdown", _README.format(name=name).encode()
    yield "images/anabranch.svg", "image/svg+xml", _DRAWING.encode()
    yield "lakes.parquet", "application/vnd.apache.parquet", lakes_table()
    for path, rows in (("data/rivers.csv", _RIVERS), ("data/anabranches.csv", _ARMS)):
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        yield path, "text/csv", text.getvalue().encode()
