"""A small table that expands to gigabytes ends the process that reads it, and not the server."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.clients.diverged_lake import DivergedLake

from anabranch.testing.server import running_server

GROWTH = 64 << 20
"""How many bytes the server may need more: it reads no table."""


def bomb(last):
    """Returns a Parquet file of 1 MiB whose column `v` has 2 GiB, and `n` ends with a number."""
    rows = 2048
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * (1 << 20)])
    sink = io.BytesIO()
    table = pa.table({"id": range(rows), "n": [0] * (rows - 1) + [last], "v": texts})
    pq.write_table(table, sink, store_schema=False, compression="none")
    return sink.getvalue()


def peak_memory(process):
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) << 10


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_merge_and_a_comparison_of_a_table_that_expands_are_refused(tmp_path):
    env = {"ANABRANCH_MERGES_MEMORY_BYTES": str(500 << 20)}
    with (
        running_server(tmp_path, env=env) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api,
    ):
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert api.post("/repositories", json=body).status_code == 201
        lake = DivergedLake(api, "sea")
        lake.diverge(*({"t.parquet": bomb(last)} for last in (0, 1, 2)))
        head, peak = lake.head(), peak_memory(server.pid)
        refused = lake.merge({"path": "t.parquet", "strategy": "rows"})
        assert refused.status_code == 409
        assert "needs more memory" in refused.json()["message"]
        rows = api.get("/repositories/sea/refs/main/diff/dev/rows", params={"path": "t.parquet"})
        assert rows.status_code == 400
        assert rows.headers["X-Anabranch-Kind"] == "comparison_out_of_memory"
        assert lake.head() == head
        assert peak_memory(server.pid) < peak + GROWTH
