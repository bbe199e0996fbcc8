"""A standalone Spark cluster on this machine: a master and a worker, as processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from support.eventually import eventually
from support.services.ending import end

__all__ = ["SparkCluster", "spark_cluster"]

_ADDRESS = re.compile(r"spark://127\.0\.0\.1:\d+")
_PACKAGE = "org.apache.spark.deploy"


class SparkCluster(NamedTuple):
    """A cluster: its address, such as `spark://127.0.0.1:7077`, the folder in which its worker
    gives each executor a working folder, and the environment for `spark-submit`.
    """

    master: str
    work: Path
    environment: Mapping[str, str]


@contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """Gives a cluster with one worker of two cores and 1 GiB, whose files are in `folder`. Its
    processes have no Python of the tests in their PATH or PYTHONPATH.
    """
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        name: value
        for name, value in os.environ.items()
        if name == "SPARK_SUBMIT_OPTS"
        or not name.startswith(("PYTHON", "PYSPARK_", "SPARK_", "VIRTUAL_ENV"))
    }
    environment |= {
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    work = folder / "work"
    ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with _process("Master", ports, folder, environment) as log:
        eventually(lambda: _ADDRESS.search(log.read_text()))
        (address, *_) = _ADDRESS.findall(log.read_text())
        worker = (*ports, "--cores", "2", "--memory", "1g", "--work-dir", str(work), address)
        with _process("Worker", worker, folder, environment) as worker_log:
            eventually(lambda: "registered with master" in worker_log.read_text())
            yield SparkCluster(address, work, environment)


@contextmanager
def _process(
    name: str, arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> Iterator[Path]:
    """Runs a daemon of Spark and gives the path of its log."""
    log = folder / f"{name.lower()}.log"
    command = ["spark-class", f"{_PACKAGE}.{name.lower()}.{name}", *arguments]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=environment, cwd=folder, stdout=output, stderr=output
        ) as process,
    ):
        try:
            yield log
        finally:
            end(process)
