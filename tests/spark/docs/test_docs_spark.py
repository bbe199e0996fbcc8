"""docs/spark.md: its examples run, and its tables have all functions and columns."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from support.services.s3_service import CREDENTIALS

import anabranch.spark
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[3] / "docs" / "spark.md").read_text(encoding="utf-8")
S3A_PAGE = (Path(__file__).parents[3] / "docs" / "spark-s3a.md").read_text(encoding="utf-8")
TABLES_PAGE = (Path(__file__).parents[3] / "docs" / "spark-tables.md").read_text(encoding="utf-8")
FORMAT_PAGE = (Path(__file__).parents[3] / "docs" / "spark-format.md").read_text(encoding="utf-8")


@pytest.mark.slow  # an example; tests/spark/imports
def test_import_example_runs(spark, emulated_s3, tmp_path, capsys):
    _, example = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    bucket = f"bucket-{uuid.uuid4()}"
    emulated_s3.make_bucket(bucket)
    for old, new in (
        ('("inventory")', f'("{tmp_path / "inventory"}")'),
        ("s3://bucket/", f"s3://{bucket}/"),
        ('S3Store(region="eu-west-1")', "S3Store(**options)"),
    ):
        assert old in example
        example = example.replace(old, new)
    options = {
        "endpoint": emulated_s3.endpoint,
        "access_key_id": CREDENTIALS.access_key_id,
        "secret_access_key": CREDENTIALS.secret.reveal(),
        "path_style": True,
    }
    blocks = emulated_s3.blocks()
    for number in range(5):
        blocks.put(f"s3://{bucket}/2024/{number}", [b"x" * number])
    inventory = spark.range(5).selectExpr(
        *("concat('2024/', id) AS key", "id AS size", "md5(repeat('x', id)) AS e_tag"),
        "timestamp_seconds(id) AS last_modified_date",
    )
    inventory.write.parquet(str(tmp_path / "inventory"))
    with running_server(tmp_path / "lake", env=emulated_s3.settings) as running:
        server = anabranch.spark.Server(running.url, *running.auth)
        body = {"name": "sea", "storage_namespace": f"s3://{bucket}/sea"}
        server.client.change("POST", body=body)
        capsys.readouterr()
        exec(example, {"spark": spark, "server": server, "options": options})  # noqa: S102
        assert capsys.readouterr().out == "5 {}\n"
        table = anabranch.spark.objects(spark, server, "sea", "main").orderBy("path").toArrow()
    paths = table["path"].to_pylist()
    assert paths == [f"archive/2024/{number}" for number in range(5)]


def test_example_runs(spark, server, repository, capfd):
    example, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for old, new in (
        ("http://HOST:8000", server.url),
        ("SECRET_ACCESS_KEY", server.secret_access_key),
        ("ACCESS_KEY_ID", server.access_key_id),
        ("rides-of-the-city", repository.id),
        ("rides/", "a/"),
        ("v1", "main~1"),
    ):
        assert old in example
        example = example.replace(old, new)
    exec(example, {"spark": spark})  # noqa: S102
    printed = re.sub(r"[ +|-]+", " ", capfd.readouterr().out)
    assert "text/plain 28" in printed
    assert "added 1" in printed
    assert "changed 1" in printed


def test_pages_have_all_functions_and_columns(spark, server, repository):
    source = anabranch.spark.Server(server.url, *server.auth)
    functions = {
        "objects": anabranch.spark.objects(spark, source, repository.id, "main"),
        "changes": anabranch.spark.changes(spark, source, repository.id, "main", "main"),
    }
    pages = PAGE + S3A_PAGE + FORMAT_PAGE + TABLES_PAGE
    assert [x for x in anabranch.spark.__all__ if f"anabranch.spark.{x}(" not in pages] == []
    for name, table in functions.items():
        (line,) = re.findall(rf"^\| `{name}\(.*$", PAGE, re.MULTILINE)
        assert [column for column in table.columns if column not in line] == []


def test_other_packages_import_neither_pyspark_nor_anabranch_spark():
    """And importing `anabranch.spark` does not import PySpark."""
    program = (
        "import sys, anabranch.cli.main, anabranch.server.composition; "
        "assert not {'anabranch.spark', 'pyarrow', 'pyspark'} & set(sys.modules); "
        "import anabranch.spark; "
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
