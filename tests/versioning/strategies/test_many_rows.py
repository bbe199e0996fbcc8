"""Ten million rows with one conflict: found within a limit of memory."""

from __future__ import annotations

import json
import subprocess
import sys

import duckdb
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROWS = 10_000_000
MAX_MIB = 2500
PROGRAM = """
import json, resource, sys, time
from pathlib import Path
import anabranch
from anabranch.errors import MergeConflict

folder, extension = Path(sys.argv[1]), sys.argv[2]

def pieces(name):
    with (folder / name).open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece

with anabranch.open(folder / "lake") as lake:
    lake.repositories.create("sea", "local://sea")
    path = f"t.{extension}"
    def commit(branch, name):
        lake.objects.upload("sea", branch, path, pieces(name))
        lake.commits.commit("sea", branch, message=name, committer="ada")
    commit("main", "base")
    lake.branches.create("sea", "dev", "main")
    commit("dev", "source")
    commit("main", "destination")
    rules = [{"path": path, "strategy": "rows", "key": "id"}]
    start = time.monotonic()
    try:
        lake.refs.merge("sea", "dev", "main", committer="ada", resolutions=rules)
        details = []
    except MergeConflict as error:
        (conflict,) = error.conflicts
        details = [[each.key, each.column, each.source] for each in conflict.details]
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"seconds": seconds, "mib": peak, "details": details}))
"""


@pytest.mark.parametrize("extension", ["parquet", "csv"])
def test_one_conflict_among_ten_million_rows_is_found(tmp_path, extension, record_property):
    options = "FORMAT parquet" if extension == "parquet" else "FORMAT csv, HEADER"
    changes = {
        "base": "v",
        "source": "CASE WHEN id % 1000 = 1 OR id = 7654321 THEN 's' ELSE v END",
        "destination": "CASE WHEN id % 1000 = 2 OR id = 7654321 THEN 'd' ELSE v END",
    }
    for name, value in changes.items():
        rows = f"SELECT range AS id, 'value ' || range % 77 AS v FROM range({ROWS})"
        query = f"SELECT id, {value} AS v FROM ({rows})"
        duckdb.sql(f"COPY ({query}) TO '{tmp_path / name}' ({options})")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), extension]
    ran = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    key = 7654321 if extension == "parquet" else "7654321"
    assert ran["details"] == [[{"id": key}, "v", "s"]]
    assert ran["mib"] < MAX_MIB
    record_property("seconds", ran["seconds"])
    record_property("mib", ran["mib"])
    print(ran)
