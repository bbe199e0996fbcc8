"""Snippets of "Use this table" do what they say: each is run, for names that quoting gets wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog
from support.browser.snippet_programs import snippet_environment
from support.session.sizes import sized

WEB = Path(__file__).parents[2] / "web"
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
LOAD = """
import { createServer } from "vite";
import { text } from "node:stream/consumers";
const server = await createServer({
  configFile: false,
  logLevel: "error",
  optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, ws: false },
});
const { tableTools } = await server.ssrLoadModule("/src/tables/snippets.ts");
const { sources, format } = JSON.parse(await text(process.stdin));
const write = (source) =>
  Object.fromEntries(tableTools(source, format).map(({ id, write }) => [id, write(source)]));
console.log(JSON.stringify(sources.map(write)));
await server.close();
"""
PROGRAM = """
import json, sys, traceback
for number, text in enumerate(json.load(sys.stdin)):
    print("==", number)
    try:
        exec(compile(text, "snippet", "exec"), {})
    except BaseException:
        traceback.print_exc(file=sys.stdout)
"""


def snippets_of(sources, table_format):
    """Returns the snippets of the page by the program, for each source."""
    if shutil.which("node") is None or not (WEB / "node_modules/vite").exists():
        pytest.skip("Node.js and the packages of web/ are needed: `make web` installs them")
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", LOAD],
        cwd=WEB,
        input=json.dumps({"sources": sources, "format": table_format}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def outputs_of(snippets, environment):
    """Returns what snippets print, which run one after another in one process."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-W", "error::SyntaxWarning", "-c", PROGRAM],
        input=json.dumps(snippets),
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split("== ")[1:]


@pytest.fixture
def environment(site, tmp_path):
    """Variables of the programs."""
    return snippet_environment(site, tmp_path)


def source(site, repository, path, ref="main"):
    return {"server": site.url, "repository": repository.name, "ref": ref, "path": path}


def listed_paths(repository, ref="main"):
    """Returns the paths of the tables by their names, as the page gets them."""
    listed = repository.api.get(f"{repository.path}/refs/{ref}/tables").json()["results"]
    return {each["name"]: each["path"] for each in listed}


def test_programs_read_tables_of_the_catalog(site, repository, environment):
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
    written = snippets_of([source(site, repository, paths[name]) for name in NAMES], "iceberg")
    run = [
        each[tool] for each in written for tool in ("pyiceberg", "duckdb", "polars") if tool in each
    ]
    assert len(run) == 3 * len(NAMES) - 1  # DuckDB takes a namespace with a dot for two
    outputs = outputs_of(run, environment)
    wrong = [
        each
        for each in zip(run, outputs, strict=True)
        if "10935" not in each[1] or "Tonga" not in each[1]
    ]
    assert not wrong, "\n".join(map("\n".join, wrong))


def test_snippets_read_the_reference_that_is_shown(site, repository, environment):
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
    written = snippets_of([source(site, repository, path, ref) for ref in references], "iceberg")
    run = [each[tool] for each in written for tool in ("pyiceberg", "duckdb")]
    outputs = outputs_of(run, environment)
    assert ["4711" in output for output in outputs] == [True] * 6, outputs
    assert ["815" in output for output in outputs] == [True] * 2 + [False] * 4, outputs


def test_programs_read_delta_tables(site, repository, environment, tmp_path):
    folder = tmp_path / "made"
    write_deltalake(folder, pa.table({"metres": [10935], "name": ["Mariana"]}))
    for path in FOLDERS:
        for file in folder.rglob("*"):
            if file.is_file():
                name = f"{path}/{file.relative_to(folder).as_posix()}"
                repository.put(name, file.read_bytes())
    paths = listed_paths(repository)
    assert set(paths) == set(FOLDERS)
    written = snippets_of([source(site, repository, paths[name]) for name in FOLDERS], "delta")
    offered = [[tool for tool in ("deltalake", "polars") if tool in each] for each in written]
    assert offered == [["deltalake", "polars"], ["deltalake"], ["deltalake"], [], offered[0]]
    run = [each[tool] for each, tools in zip(written, offered, strict=True) for tool in tools]
    outputs = outputs_of(run, environment)
    wrong = [each for each in zip(run, outputs, strict=True) if "10935" not in each[1]]
    assert not wrong, "\n".join(map("\n".join, wrong))
