"""docs/moving-from-delta.md: its commands and its Python run in order, over a table in a bucket."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.checkout import ROOT
from support.services.s3_service import CREDENTIALS

from anabranch.testing.server import running_server

PAGE = (ROOT / "docs/moving-from-delta.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def original(emulated_s3):
    """The address of a bucket with a table in its folder `delays`, which has two versions."""
    bucket = f"archive-{uuid.uuid4()}"
    emulated_s3.make_bucket(bucket)
    storage = {
        "aws_endpoint_url": emulated_s3.endpoint,
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": CREDENTIALS.access_key_id,
        "aws_secret_access_key": CREDENTIALS.secret.reveal(),
        "aws_s3_allow_unsafe_rename": "true",
    }
    for number in (1, 2):
        rows = pa.table({"id": [number], "delay": [5]})
        address = f"s3://{bucket}/delays"
        write_deltalake(address, rows, mode="append", storage_options=storage)
    return f"s3://{bucket}"


@pytest.mark.slow  # an example
def test_a_table_is_imported_written_on_a_branch_and_restored(emulated_s3, original, tmp_path):
    with running_server(tmp_path / "lake", env=emulated_s3.settings) as server:
        key, secret = server.auth
        environment = {
            "ANABRANCH_SERVER": server.url,
            "ANABRANCH_ACCESS_KEY_ID": key,
            "ANABRANCH_SECRET_ACCESS_KEY": secret,
            "HOME": str(tmp_path),
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
        }
        replaced = {
            "http://HOST:8000": server.url,
            "SECRET_ACCESS_KEY": secret,
            "ACCESS_KEY_ID": key,
            "s3://archive": original,
            "s3://lake/flights": f"{original}/flights",
        }
        printed = []
        for language, block in BLOCKS:
            script = block
            for old, new in replaced.items():
                script = script.replace(old, new)
            program = [sys.executable, "-c"] if language == "python" else ["/bin/sh", "-euc"]
            ran = subprocess.run(
                [*program, script],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            printed.append(ran.stdout)
        assert "3\t9\n" in printed[-1]
        assert re.search(r"^added\t.*id=3", printed[-1], re.MULTILINE)
        storage = {
            "aws_endpoint_url": server.url,
            "aws_allow_http": "true",
            "aws_region": "us-east-1",
            "aws_access_key_id": key,
            "aws_secret_access_key": secret,
        }
        table = DeltaTable("s3://flights/main/delays", storage_options=storage)
        assert table.version() == 1
        assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [1, 2]
