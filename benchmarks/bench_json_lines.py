"""Reads JSON lines as queries do: by the reader of ordinary lines, and by the one of all lines.

    python benchmarks/bench_json_lines.py --rows 200000

The lines have numbers, texts, times, lists and objects. Reported is the processor time of a scan of
all columns and of one, as megabytes of text in a second.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from anabranch.tables.formats import FORMATS
from anabranch.tables.open_table import open_table
from anabranch.tables.readers.json_lines import ScannedLines
from anabranch.tables.readers.json_table import JsonTable

_FORMAT = FORMATS["jsonl"]
_EXACT_SHARE = 8


def row(draw: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "at": f"2024-05-{number % 28 + 1:02d}T10:11:12Z",
        "user": {"name": f"user-{draw.randrange(9999)}", "age": draw.randrange(90)},
        "price": round(draw.random() * 100, 2),
        "score": draw.random(),
        "tags": ["a", "bé"],
        "ok": number % 2 == 0,
        "note": None if number % 3 else "some longer text, with several words in it",
    }


def lines(rows: int) -> bytes:
    draw = random.Random(1)
    return "".join(f"{json.dumps(row(draw, number))}\n" for number in range(rows)).encode()


def megabytes_per_second(content: bytes, opened: Callable[[], Any], columns: list[int]) -> float:
    start = time.process_time()
    rows = sum(batch.num_rows for batch in opened().batches(columns))
    seconds = time.process_time() - start
    assert rows == content.count(b"\n")
    return len(content) / 1e6 / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    pa.set_cpu_count(1)
    content = lines(rows)
    part = lines(max(rows // _EXACT_SHARE, 1))  # the other reader takes its time
    assert isinstance(open_table(io.BytesIO(content), "t.jsonl"), ScannedLines)
    print(f"{rows:,} rows, {len(content) / 1e6:.0f} MB")
    for name, columns in {"all columns": list(range(8)), "one column": [0]}.items():
        exact = megabytes_per_second(
            part, lambda: JsonTable(io.BytesIO(part), _FORMAT, ""), columns
        )
        fast = megabytes_per_second(
            content, lambda: open_table(io.BytesIO(content), "t.jsonl"), columns
        )
        print(
            f"{name}: {fast:.1f} MB/s, {exact:.1f} MB/s by the reader of all lines: "
            f"{fast / exact:.1f} times"
        )


if __name__ == "__main__":
    main()
