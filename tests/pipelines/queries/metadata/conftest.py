"""A repository with objects of many kinds, and its listing as plain rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from anabranch import _kernel as kernel
from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import Effect, Statement
from anabranch.model.objects.stat import Stat
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries
from anabranch.testing.lake import Clock, lake_in
from anabranch.versioning.trees.tree_writers import WriteRecords

ADMIN = Actor.administrator("admin")
TYPES = ["text/csv", "application/parquet", ""]


def member(*statements):
    """Returns a user of statements: (effect, action, resource below the repository `sea`)."""
    repository = "arn:lakefs:fs:::repository/sea"
    return Actor(
        username="member",
        statements=[
            Statement(Effect(effect), (action,), (f"{repository}{resource}",))
            for effect, action, resource in statements
        ],
    )


def entry(number, **changes):
    """Returns the stored value of an object."""
    given = {
        "address": f"data/g000/{number:04d}",
        "type": 1,
        "mtime": 1_700_000_000 + number * 3600,
        "nanos": number * 1000,
        "size": number * 100,
        "checksum": f"{number:032x}",
        "metadata": {"owner": f"team-{number % 3}", "n": str(number)} if number % 4 else {},
        "content_type": TYPES[number % 3],
    }
    return kernel.encode_entry(*(given | changes).values())


def commit_tree(lake, repository, values, message):
    """Commits objects, given by key, as the whole tree of `main`."""
    stored = lake.core.repositories.get(repository)
    written = lake.core.trees.write(stored, WriteRecords(sorted(values.items())))
    return lake.commits.commit(
        *(repository, "main"),
        message=message,
        committer="admin",
        source_metarange=written.metarange_id,
        metadata={"step": message},
    )


def paths():
    """Returns ordinary paths and strange ones, as keys."""
    ordinary = [
        f"{folder}/{number:02d}" for folder in ("a", "a-b", "b/c", "é") for number in range(12)
    ]
    strange = [
        "with space",
        "quote'\"",
        "nul\0byte",
        "line\nbreak",
        "東京/🌊",
        "z" * 1024,
        "%2F",
        "\x7f",
    ]
    return [text.encode() for text in ordinary + strange]


@pytest.fixture(scope="session")
def metadata_lake(tmp_path_factory):
    """A lake with the repository `sea`: a commit of 56 objects, one that changes them, and staged
    changes over it.
    """
    clock = Clock()
    with lake_in(tmp_path_factory.mktemp("metadata"), clock) as lake:
        lake.repositories.create("sea", "local://sea")
        values = {key: entry(number) for number, key in enumerate(paths())}
        commit_tree(lake, "sea", values, "first")
        clock.advance(60)
        changed = {
            key: entry(number, size=7) if number % 5 == 0 else values[key]
            for number, key in enumerate(paths())
            if number % 7
        }
        commit_tree(lake, "sea", changed | {b"new": entry(99)}, "second")
        lake.tags.create("sea", "v1", "main~1")
        lake.objects.upload("sea", "main", "a/00", [b"staged"], metadata={"owner": "team-1"})
        lake.objects.upload("sea", "main", "staged", [b"1234"], content_type="text/csv")
        lake.objects.delete("sea", "main", "a/01")
        yield lake


@pytest.fixture(scope="session")
def queries(metadata_lake):
    return Queries(metadata_lake, QueryLimits(seconds=60, memory_bytes=256 << 20))


@pytest.fixture(scope="session")
def query(queries):
    """Returns the rows of a query as dictionaries."""

    def run(sql, *, actor=ADMIN, max_rows=1000):
        result = queries.query(
            actor, sql, repository="sea", reference="main", tables={}, max_rows=max_rows
        )
        names = [column["name"] for column in result["columns"]]
        return [dict(zip(names, row, strict=True)) for row in result["rows"]]

    return run


def listed(lake, reference, *, prefix="", readable=None, repository="sea"):
    """Returns the rows that `objects` should have, from the listing that the REST API sends."""
    rows, after, more = [], "", True
    while more:
        page = lake.objects.listing(
            *(repository, reference), prefix=prefix, after=after, amount=7, readable=readable
        )
        rows += [as_row(item) for item in page.items if isinstance(item, Stat)]
        more, after = page.has_more, page.next_offset
    return rows


def as_row(stat):
    """Returns the row of an object, as a result in JSON shows it."""
    return {"path": stat.path, **side(stat.physical_address, stat.entry)}


def side(address, stored):
    """Returns the columns of an object beside its path."""
    time = datetime.fromtimestamp(stored.mtime, UTC).replace(microsecond=stored.mtime_nanos // 1000)
    return {
        "physical_address": address,
        "last_modified": str(time),
        "size": stored.size,
        "checksum": stored.checksum,
        "metadata": stored.metadata,
        "content_type": stored.content_type,
    }
