"""Snippets of "Use this table" do what they say: each is run, for names that quoting gets wrong."""

from __future__ import annotations

import pyarrow as pa
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog
from support.session.sizes import sized

NAMES = (
    "trips",
    'it\'s "quoted" `id` $HOME',
    "a.b/c d",
    "ünï 海 🌊",
    "100%25 p%20",
    "back\\slash\\n",
    "new\nline",
    "st*ar[1]{a,b}?#h&=+;@",
)[:: sized(2, weekly=1)]
FOLDERS = ("plain", 'a b/it\'s "quoted"', "ünï/海 🌊", "p%20%", "n=1/x==2:y")


def source(site, repository, path, ref="main"):
    return {"server": site.url, "repository": repository.name, "ref": ref, "path": path}


def listed_paths(repository, ref="main"):
    """Returns the paths of the tables by their names, as the page gets them."""
    listed = repository.api.get(f"{repository.path}/refs/{ref}/tables").json()["results"]
    return {each["name"]: each["path"] for each in listed}


def test_programs_read_tables_of_the_catalog(site, repository, page_functions, interpreter):
    catalog = load_catalog(
        "lake",
        type="rest",
        uri=f"{site.url}/iceberg",
        warehouse=f"{repository.name}/main",
        credential=":".join(site.auth),
        **{"oauth2-server-uri": f"{site.url}/iceberg/v1/oauth/tokens"},
    )
    rows = pa.table({"metres": [10935, 10820], "name": ["Mariana", "Tonga"]})
    for name in NAMES:
        catalog.create_namespace((name,))
        catalog.create_table((name, name), rows.schema).append(rows)
    paths = listed_paths(repository)
    assert set(paths) == set(NAMES)
    written = page_functions.tables(
        [source(site, repository, paths[name]) for name in NAMES], "iceberg"
    )
    run = [
        each[tool] for each in written for tool in ("pyiceberg", "duckdb", "polars") if tool in each
    ]
    assert len(run) == 3 * len(NAMES) - 1  # DuckDB takes a namespace with a dot for two
    outputs = interpreter.outputs_of(run)
    wrong = [
        each
        for each in zip(run, outputs, strict=True)
        if "10935" not in each[1] or "Tonga" not in each[1]
    ]
    assert not wrong, "\n".join(map("\n".join, wrong))


def test_snippets_read_the_reference_that_is_shown(site, repository, page_functions, interpreter):
    catalog = load_catalog(
        "lake",
        type="rest",
        uri=f"{site.url}/iceberg",
        warehouse=f"{repository.name}/main",
        credential=":".join(site.auth),
        **{"oauth2-server-uri": f"{site.url}/iceberg/v1/oauth/tokens"},
    )
    catalog.create_namespace(("city",))
    table = catalog.create_table(("city", "trips"), pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [4711]}))
    table.append(pa.table({"id": [815]}))
    (path,) = listed_paths(repository).values()
    references = ("main", "main~1", repository.head("main~1")["id"])
    written = page_functions.tables(
        [source(site, repository, path, ref) for ref in references], "iceberg"
    )
    run = [each[tool] for each in written for tool in ("pyiceberg", "duckdb")]
    outputs = interpreter.outputs_of(run)
    assert ["4711" in output for output in outputs] == [True] * 6, outputs
    assert ["815" in output for output in outputs] == [True] * 2 + [False] * 4, outputs


def test_programs_read_delta_tables(site, repository, page_functions, interpreter, tmp_path):
    folder = tmp_path / "made"
    write_deltalake(folder, pa.table({"metres": [10935], "name": ["Mariana"]}))
    for path in FOLDERS:
        for file in folder.rglob("*"):
            if file.is_file():
                name = f"{path}/{file.relative_to(folder).as_posix()}"
                repository.put(name, file.read_bytes())
    paths = listed_paths(repository)
    assert set(paths) == set(FOLDERS)
    written = page_functions.tables(
        [source(site, repository, paths[name]) for name in FOLDERS], "delta"
    )
    offered = [[tool for tool in ("deltalake", "polars") if tool in each] for each in written]
    assert offered == [["deltalake", "polars"], ["deltalake"], ["deltalake"], [], offered[0]]
    run = [each[tool] for each, tools in zip(written, offered, strict=True) for tool in tools]
    outputs = interpreter.outputs_of(run)
    wrong = [each for each in zip(run, outputs, strict=True) if "10935" not in each[1]]
    assert not wrong, "\n".join(map("\n".join, wrong))
