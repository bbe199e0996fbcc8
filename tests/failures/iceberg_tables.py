"""Examples of use cases of the Iceberg catalog, and the state of its tables."""

from __future__ import annotations

from typing import Any

from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.catalog.tables.iceberg.identifiers import TABLE_FILE, Identifier
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.table_commits import TableCommit
from anabranch.library import Lake

__all__ = ["EXAMPLES", "prepare_tables", "tables_of"]

MAIN = Place("sea", "main")
WRITING = Writing(committer="ada")
STAGED = Writing(committer="ada", staged=True)
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "required": True, "type": "long"}],
}
TRIPS = Identifier(("city",), "trips")
NAMES = ("trips", "rides", "new")


def prepare_tables(lake: Lake) -> None:
    """Makes a namespace with a table, and one without."""
    lake.iceberg.namespaces.create(MAIN, ("city",), {"owner": "ada"}, WRITING)
    lake.iceberg.namespaces.create(MAIN, ("empty",), {}, WRITING)
    create(lake, TRIPS)


def create(lake: Lake, name: Identifier, writing: Writing = WRITING) -> None:
    tables = lake.iceberg.tables
    area = tables.new_area(MAIN, name)
    metadata = tables.describe(area, {"name": name.name, "schema": SCHEMA})
    new = tables.new_record(area, metadata, tables.store(area, metadata))
    tables.create(MAIN, name, new, writing)


def found(lake: Lake) -> Any:
    return lake.iceberg.tables.get_record(MAIN, TRIPS)


def commit(lake: Lake, writing: Writing = WRITING) -> None:
    table = TableCommit(
        identifier=TRIPS,
        requirements=[{"type": "assert-current-schema-id", "current-schema-id": 0}],
        updates=[{"action": "set-properties", "updates": {"by": "commit"}}],
        area=found(lake).area.id,
    )
    tables = lake.iceberg.tables
    tables.commit(MAIN, tables.begin(MAIN, [table]), writing)


EXAMPLES = {
    "iceberg.namespaces.create": lambda lake: lake.iceberg.namespaces.create(
        MAIN, ("country",), {"k": "v"}, WRITING
    ),
    "iceberg.namespaces.change_properties": lambda lake: lake.iceberg.namespaces.change_properties(
        MAIN, ("city",), {"k": "v"}, ["owner"], WRITING
    ),
    "iceberg.namespaces.drop": lambda lake: lake.iceberg.namespaces.drop(MAIN, ("empty",), WRITING),
    "iceberg.tables.create": lambda lake: create(lake, Identifier(("city",), "new")),
    "iceberg.tables.create staged": lambda lake: create(lake, Identifier(("city",), "new"), STAGED),
    "iceberg.tables.commit": commit,
    "iceberg.tables.commit staged": lambda lake: commit(lake, STAGED),
    "iceberg.tables.drop": lambda lake: lake.iceberg.tables.drop(MAIN, found(lake), WRITING),
    "iceberg.tables.rename": lambda lake: lake.iceberg.tables.rename(
        MAIN, found(lake), Identifier(("city",), "rides"), TABLE_FILE, WRITING
    ),
}


def tables_of(lake: Lake) -> dict[str, Any]:
    """Returns the schemas and properties of the tables, read from their areas, and namespaces."""
    catalog = lake.iceberg
    state: dict[str, Any] = {
        name: dict(catalog.namespaces.properties(MAIN, (name,), None))
        for name in ("city", "empty", "country")
        if catalog.namespaces.exists(MAIN, (name,), None)
    }
    for name in NAMES:
        record = catalog.tables.find_record(MAIN, Identifier(("city",), name))
        if record is not None:
            metadata = catalog.tables.decoded(record)
            state[f"city.{name}"] = (metadata["schemas"], metadata["properties"])
    return state
