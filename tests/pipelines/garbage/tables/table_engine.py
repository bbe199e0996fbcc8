"""An engine of Iceberg tables over a lake in this process, and a reader that shares no code with
what is tested: it follows records with fastavro alone.
"""

from __future__ import annotations

import io
import itertools
import json

import fastavro
from support.verification.table_manifests import manifest, manifest_list

from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.catalog.tables.iceberg.identifiers import Identifier, record_path
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.table_commits import TableCommit

__all__ = [
    "Engine",
    "Lost",
    "identifier",
    "read",
    "readable",
    "stored_file",
]

SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": False, "type": "long"},
    ],
}
_numbers = itertools.count(1)


class Lost(Exception):
    """A file that a table names is not stored."""


class Engine:
    """Writes tables of a repository."""

    def __init__(self, lake, repository="sea"):
        self.lake, self.repository = lake, repository
        self.tables = lake.iceberg.tables

    def place(self, branch):
        return Place(self.repository, branch)

    def find(self, name, branch="main"):
        return self.tables.get_record(self.place(branch), identifier(name))

    def metadata(self, name, branch="main"):
        return self.tables.decoded(self.find(name, branch))

    def create(self, name, branch="main", version=2):
        place, ident = self.place(branch), identifier(name)
        area = self.tables.new_area(place, ident)
        metadata = self.tables.describe(
            area,
            {
                "name": name,
                "schema": SCHEMA,
                "properties": {"format-version": str(version)},
            },
        )
        new = self.tables.new_record(area, metadata, self.tables.store(area, metadata))
        self.tables.create(place, ident, new, Writing(committer="me"))
        return area

    def put(self, area, path, content):
        """Stores a file under a path that has a number of its own, and returns its address."""
        folder, _, name = path.rpartition("/")
        path = f"{folder}/{next(_numbers):06}-{name}"
        self.lake.iceberg.areas.put(area, path, [content])
        return f"{area.location}/{path}"

    def append(self, name, rows=(), branch="main", *, files=(), keep=True, staged=False, **extra):
        """Adds a snapshot with a file for each row, and `files`; without `keep`, it replaces what
        there was. Returns the addresses of the new files.
        """
        found = self.find(name, branch)
        metadata, area = self.tables.decoded(found), found.area
        new = [self.put(area, "data/f.parquet", b"row %d" % row) for row in rows]
        number = next(_numbers)
        before = metadata.get("current-snapshot-id")
        before = None if before in {None, -1} else before
        listed = []
        if before is not None and keep:
            (snapshot,) = (e for e in metadata["snapshots"] if e["snapshot-id"] == before)
            listed = [e["manifest_path"] for e in self.records(snapshot["manifest-list"])]
        content = manifest([*new, *files], **extra)
        listed.append(self.put(area, "metadata/m0.avro", content))
        address = self.put(area, "metadata/snap.avro", manifest_list(listed))
        snapshot = {
            "snapshot-id": number,
            "sequence-number": metadata["last-sequence-number"] + 1,
            "timestamp-ms": metadata["last-updated-ms"] + 1,
            "manifest-list": address,
            "summary": {"operation": "append"},
            "schema-id": 0,
            **({} if before is None else {"parent-snapshot-id": before}),
        }
        self.commit(
            name,
            branch,
            [
                {"action": "add-snapshot", "snapshot": snapshot},
                {
                    "action": "set-snapshot-ref",
                    "ref-name": "main",
                    "type": "branch",
                    "snapshot-id": number,
                },
            ],
            staged=staged,
        )
        return new

    def expire(self, name, branch="main"):
        """Removes all snapshots but the current one."""
        metadata = self.metadata(name, branch)
        doomed = [
            each["snapshot-id"]
            for each in metadata["snapshots"]
            if each["snapshot-id"] != metadata["current-snapshot-id"]
        ]
        if doomed:
            self.commit(name, branch, [{"action": "remove-snapshots", "snapshot-ids": doomed}])

    def commit(self, name, branch, updates, *, staged=False):
        found = self.find(name, branch)
        commit = TableCommit(
            identifier=identifier(name), requirements=[], updates=updates, area=found.area.id
        )
        place = self.place(branch)
        change = self.tables.begin(place, [commit])
        self.tables.commit(place, change, Writing(committer="me", staged=staged))

    def drop(self, name, branch="main"):
        self.tables.drop(self.place(branch), self.find(name, branch), Writing(committer="me"))

    def register(self, name, location, branch="main"):
        """Makes a table of a metadata file in an area, as the catalog does."""
        area_id, _, path = location.partition("/.tables/")[2].partition("/")
        area = self.lake.iceberg.areas.find_by_address(self.repository, area_id)
        metadata = self.tables.read_area_file(area, path)
        new = self.tables.new_record(area, metadata, self.tables.store(area, metadata, location))
        self.tables.create(
            self.place(branch), identifier(name), new, Writing(committer="me"), verb="register"
        )

    def records(self, address):
        return list(fastavro.reader(io.BytesIO(stored_file(self.lake, address))))


def identifier(name):
    return Identifier(("city",), name)


def path_of(name):
    return record_path(identifier(name))


def stored_file(lake, address):
    """The bytes of a file of a table. Raises Lost."""
    repository, _, rest = address.removeprefix("s3://").partition("/.tables/")
    namespace = lake.repositories.get(repository).storage_namespace
    place = f"{namespace}/tables/{rest}"
    if lake.blocks.stat(place) is None:
        raise Lost(address)
    return lake.blocks.read(place)


def read(lake, reference, repository="sea", used=None):
    """Returns what the tables at a reference hold: by the path of the record, the bytes of the
    files of each snapshot; puts the addresses that it reads into `used`. Raises Lost.
    """
    found = {}
    used = set() if used is None else used

    def stored(lake, address):
        used.add(address)
        return stored_file(lake, address)

    page = lake.objects.listing(repository, reference, prefix="_tables/", amount=1000)
    for path in [each["path"] for each in json.loads(page.json(user_metadata=False))]:
        if not path.endswith(("/table.json", "/view.json")):
            continue
        record = json.loads(lake.objects.open(repository, reference, path).read_bytes())
        metadata = json.loads(stored(lake, record["metadata"]))
        for each in metadata.get("metadata-log", ()):
            stored(lake, each["metadata-file"])
        for kind in ("statistics", "partition-statistics"):
            for each in metadata.get(kind, ()):
                stored(lake, each["statistics-path"])
        snapshots = {}
        for snapshot in metadata.get("snapshots", ()):
            rows = []
            lists = fastavro.reader(io.BytesIO(stored(lake, snapshot["manifest-list"])))
            for listed in lists:
                manifest_ = fastavro.reader(io.BytesIO(stored(lake, listed["manifest_path"])))
                rows += [
                    stored(lake, entry["data_file"]["file_path"])
                    for entry in manifest_
                    if entry["status"] != 2
                ]
            snapshots[snapshot["snapshot-id"]] = sorted(rows)
        found[path] = snapshots
    return found


def readable(lake, reference, repository="sea"):
    """Returns what `read` does, None if a file is lost."""
    try:
        return read(lake, reference, repository)
    except Lost:
        return None
