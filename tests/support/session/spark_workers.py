"""The Python of Spark's tasks in tests, whose modules are imported once.

Spark starts a daemon, which forks a process for each task at a time. Such a process imports
pyarrow, pandas and this package, for a second of the processor, and before each task it reads the
directory of `pyspark.zip` sixteen times, for a sixth of a second: Spark puts archives on the path,
beside the installed package, and clears the import caches before each task. `spark_python` is a
program that imports first, and takes archives off the path. `make test-all` has Spark's own.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import sys
import zipimport
from pathlib import Path

from support.session.forked_python import can_fork

__all__ = ["spark_python"]

_MODULES = (
    "pandas",
    "pyarrow.parquet",
    "anabranch.spark.data_source.provider",
    "anabranch.spark.jobs.exports",
    "anabranch.spark.jobs.garbage",
    "anabranch.spark.jobs.imports",
    "anabranch.spark.jobs.verification",
)
_ARCHIVES = (".zip", ".jar")
_PROGRAM = """\
#!{python}
from support.session.spark_workers import run
run()
"""


def spark_python(folder: Path) -> str:
    """Returns the program for `PYSPARK_PYTHON`, which is written to a folder."""
    if not can_fork():
        return sys.executable
    program = folder / "python"
    program.write_text(_PROGRAM.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def run() -> None:
    """Runs a module of PySpark, as the words `-m MODULE …` say."""
    sys.path[0] = str(Path.cwd())  # as with `-m`
    sys.path[:] = [each for each in sys.path if not each.endswith(_ARCHIVES)]
    for each, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter):
            del sys.path_importer_cache[each]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads are not forked
    for name in _MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # between tasks the objects of the modules are not looked at
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
