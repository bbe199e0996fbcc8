"""docs/spark-format.md: its examples run, and its table has all tables and columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from anabranch.spark.data_source.read_options import SCHEMAS

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[3] / "docs" / "spark-format.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
STREAM = EXAMPLE.index("steps = (")


def output_of(example, spark, server, repository, capfd):
    """Returns the output of an example, without the lines that Spark draws around tables."""
    repository.tag("v1").create("main~1")
    for old, new in (
        ("http://HOST:8000", server.url),
        ("SECRET_ACCESS_KEY", server.secret_access_key),
        ("ACCESS_KEY_ID", server.access_key_id),
        ("rides-of-the-city", repository.id),
        ("rides/", "a/"),
    ):
        assert old in example
        example = example.replace(old, new)
    exec(example, {"spark": spark})  # noqa: S102
    return re.sub(r"[ +|-]+", " ", capfd.readouterr().out)


def test_example_runs(spark, server, repository, capfd):
    output = output_of(EXAMPLE[:STREAM], spark, server, repository, capfd)
    assert re.search(r"text/plain 2 *$", output, re.MULTILINE)


@pytest.mark.slow
def test_streaming_example_runs(spark, server, repository, capfd):
    """Spark gives its worker ten seconds to start, which may be too short on a busy machine."""
    for _ in range(20):
        try:
            output = output_of(EXAMPLE, spark, server, repository, capfd)
            break
        except StreamingQueryException as error:
            if "worker failed to connect back" not in str(error):
                raise
            repository.tag("v1").delete()
    assert f"{repository.ref('main').get_commit().id} added 1" in output


@pytest.mark.parametrize("what", SCHEMAS)
def test_table_has_all_columns(what):
    (line,) = re.findall(rf"^\| [^|]*`{what}`[^|]*\|.*$", PAGE, re.MULTILINE)
    if "Same as the function" not in line and "the columns of `changes`" not in line:
        assert [name for name in SCHEMAS[what].names if name not in line] == []
