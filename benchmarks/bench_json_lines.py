"""Reads JSON lines and documents as queries do, and by the reader of all JSON.

    python benchmarks/bench_json_lines.py --rows 200000

The lines have numbers, texts, times, lists and objects; files at risk have one value that needs
care: an integer of 20 digits, a text among numbers, an object with a name twice. Reported is the
processor time of a scan of all columns and of one, as megabytes of text in a second.
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
from anabranch.tables.readers.json_text import MAX_DOCUMENT_BYTES, JsonText

_EXACT_SHARE = 8
_AT_RISK = {
    "an integer of 20 digits": b'{"id": 12345678901234567890}\n',
    "a text among numbers": b'{"price": "none"}\n',
    "a name twice": b'{"user": {"age": 1, "age": 2}}\n',
}


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


def document(content: bytes) -> bytes:
    """Returns an array of as many lines as a document may have."""
    most = MAX_DOCUMENT_BYTES * 9 // 10
    objects = content if len(content) <= most else content[:most].rpartition(b"\n")[0] + b"\n"
    return b"[" + objects.removesuffix(b"\n").replace(b"\n", b",\n") + b"\n]"


def megabytes_per_second(content: bytes, opened: Callable[[], Any], columns: list[int]) -> float:
    start = time.process_time()
    rows = sum(batch.num_rows for batch in opened().batches(columns))
    seconds = time.process_time() - start
    assert rows == content.count(b"\n")  # a document has its last line end before its bracket
    return len(content) / 1e6 / seconds


def compare(title: str, content: bytes, part: bytes, kind: str) -> None:
    """Prints the speed of both readers; `part` is for the slower one."""
    for name, columns in {"all columns": list(range(8)), "one column": [0]}.items():
        exact = megabytes_per_second(
            part, lambda: JsonTable(JsonText(io.BytesIO(part), FORMATS[kind], "")), columns
        )
        fast = megabytes_per_second(
            content, lambda: open_table(io.BytesIO(content), f"t.{kind}"), columns
        )
        print(
            f"{title}, {name}: {fast:.1f} MB/s, {exact:.1f} MB/s by the reader of all JSON: "
            f"{fast / exact:.1f} times"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    pa.set_cpu_count(1)
    content = lines(rows)
    part = lines(max(rows // _EXACT_SHARE, 1))  # the other reader takes its time
    assert isinstance(open_table(io.BytesIO(content), "t.jsonl"), ScannedLines)
    print(f"{rows:,} rows, {len(content) / 1e6:.0f} MB")
    compare("lines", content, part, "jsonl")
    for title, line in _AT_RISK.items():
        compare(title, content + line, part + line, "jsonl")
    compare("a document", document(content), document(part), "json")


if __name__ == "__main__":
    main()
