"""Decoders are made at import: the first use of a type by several threads is safe."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from anabranch.converter import Converter

FIRST_USES = """
import contextlib, os, sys, threading
from anabranch.actions.hooks.checks.tables.table_checks import table_checks
from anabranch.actions.runs import running
from anabranch.catalog.objects.staging import _given_properties
from anabranch.pipelines.imports.listings.inventory import parse_manifest
from anabranch.server.installation import shared_settings
from anabranch.versioning.records import branch_tasks, pulls

USER = b'{"name":"a","username":"a"}'
NOTE = (
    b'{"id":"1","author":%s,"text":"t","state":"approved","counted":true,"commit_id":"1",'
    b'"creation_date":"2026-01-01T00:00:00Z"}'
)
RUN = b'{"repository":"r","namespace":"n","run":{"id":"1"},"hooks":[{"id":"1"}],"chain":["a"]}'
MANIFEST = (
    b'{"sourceBucket":"b","destinationBucket":"b","fileFormat":"CSV","fileSchema":"Key",'
    b'"files":[{"key":"k","size":1}]}'
)
READS = (
    lambda: running._decode(RUN),
    lambda: branch_tasks._decode(b'{"id":"1","updated_at":1,"commit":{"id":"1"}}'),
    lambda: pulls.comment_from(NOTE % USER),
    lambda: pulls.review_from(NOTE % USER),
    lambda: parse_manifest(MANIFEST),
    lambda: shared_settings._decode(b'{"salt":"s","values":{"a":"b"}}'),
    lambda: _given_properties({"checksum": "c", "size_bytes": 1, "user_metadata": {"a": "b"}}),
    lambda: table_checks({"rules": [{"path": "p", "rows": {"least": 1}, "not_null": ["a"]}]}),
)
THREADS = 8
barrier = threading.Barrier(THREADS)

def use():
    for read in READS:
        barrier.wait()
        with contextlib.suppress(Exception):
            read()

def race():
    sys.setswitchinterval(1e-7)
    threads = [threading.Thread(target=use) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

for _ in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        race()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"a process ended with the wait status {status}")
"""


class Point(msgspec.Struct):
    x: int
    y: float = 0


def test_values_are_converted():
    assert Converter(list[Point]).convert([{"x": 1}]) == [Point(1)]
    assert Converter(Point, strict=False).convert({"x": "1", "y": "2.5"}) == Point(1, 2.5)


def test_a_value_of_another_type_raises_validation_error():
    with pytest.raises(msgspec.ValidationError):
        Converter(Point).convert({"x": "1"})


@pytest.mark.slow
def test_many_threads_use_types_for_the_first_time():
    done = subprocess.run(
        # a library has a thread, of which newer versions of Python warn before a fork
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FIRST_USES, "10"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
