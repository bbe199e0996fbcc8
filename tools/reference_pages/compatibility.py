"""The tables of docs/compatibility.md: the operations of lakeFS's API, what else there is, and the
clients that tests run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from anabranch.rest.differences import DIFFERENCES, Difference, State
from anabranch.rest.protocol.operation import Operation
from anabranch.rest.table import EXTENSIONS, OPERATIONS
from reference_pages.marked_tables import markdown_table

_PINNED = re.compile(r"^([\w-]+)==(\S+)$", re.MULTILINE)


class _Client(NamedTuple):
    """A client: the name of its package, the APIs that it uses, and the files of its tests."""

    package: str
    interface: str
    tests: str


CLIENTS: Final = (
    _Client("lakefs", "REST", "tests/clients/lakefs/test_*.py"),
    _Client("lakefs-sdk", "REST", "tests/clients/lakefs_sdk/test_*.py"),
    _Client("lakefs-spec", "REST", "tests/clients/lakefs_spec/test_*.py"),
    _Client("boto3", "S3", "tests/clients/s3/test_boto3*.py"),
    _Client("pyarrow", "S3", "tests/clients/s3/test_pyarrow_s3.py"),
    _Client("polars", "S3", "tests/clients/s3/test_polars_s3.py"),
    _Client("deltalake", "S3", "tests/clients/s3/test_deltalake.py"),
    _Client("obstore", "S3", "tests/clients/s3/test_obstore.py"),
    _Client("duckdb", "S3", "tests/clients/programs/test_duckdb.py"),
    _Client("s3fs", "S3", "tests/clients/s3/test_s3fs.py"),
    _Client("awscli", "S3", "tests/clients/programs/test_aws*.py"),
    _Client("s5cmd", "S3", "tests/clients/programs/test_s5cmd.py"),
    _Client("pyspark", "S3 and REST", "tests/spark/**/test_*.py"),
)
"""The clients of the matrix; their versions are those of the constraints files."""

_HEADS: Final = {
    "operations": ("Operation", "Request", "State", "Difference"),
    "extensions": ("Operation", "Request", "Meaning"),
    "clients": ("Client", "Tested versions", "API", "Tests"),
}


def state_of(operation: Operation[Any, Any]) -> Difference:
    """Returns how an operation of lakeFS's API compares with lakeFS."""
    return DIFFERENCES.get(operation.id, Difference(State.SAME, ""))


def tables(project: Path) -> dict[str, str]:
    """Returns the tables by the names of their marks, in Markdown, given the folder of the
    checkout.
    """
    rows: dict[str, Iterable[tuple[str, ...]]] = {
        "operations": (
            (f"`{each.id}`", _request(each), state_of(each).state.value, state_of(each).how)
            for each in sorted(OPERATIONS, key=lambda each: (each.tag, each.path, each.method))
        ),
        "extensions": ((f"`{each.id}`", _request(each), each.summary) for each in EXTENSIONS),
        "clients": _clients(project),
    }
    made = {name: markdown_table(_HEADS[name], rows[name]) for name in _HEADS}
    return {"summary": _summary(), **made}


def _summary() -> str:
    counts = Counter(state_of(operation).state for operation in OPERATIONS)
    parts = [f"{counts[state]} {state.value}" for state in State if counts[state]]
    return f"Of {len(OPERATIONS)} operations: {', '.join(parts)}."


def _request(operation: Operation[Any, Any]) -> str:
    return f"{operation.method} `{operation.path}`"


def _clients(project: Path) -> Iterable[tuple[str, ...]]:
    pinned: dict[str, list[str]] = {}
    for path in sorted(project.glob("constraints*.txt")):
        for package, version in _PINNED.findall(path.read_text("utf-8")):
            versions = pinned.setdefault(package, [])
            if version not in versions:
                versions.append(version)
    for client in CLIENTS:
        versions = pinned[client.package]
        yield client.package, ", ".join(sorted(versions)), client.interface, f"`{client.tests}`"
