"""`python -m anabranch.spark import|gc|export|fsck …`: a job on Spark, for `spark-submit`.

The arguments are those of the command `anabranch`, which runs the job on Spark. The master is the
one given to `spark-submit`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

__all__ = ["main"]

_JOBS = ("import", "gc", "export", "fsck")


def main(arguments: Sequence[str]) -> int:
    """Runs a job and returns the exit code of the command."""
    if not arguments or arguments[0] not in _JOBS:
        sys.stderr.write(f"usage: python -m anabranch.spark {'|'.join(_JOBS)} …\n")
        return 2
    # imported by name, because packages import downwards only, and the command line is above
    command = import_module("anabranch.cli.main")
    code: int = command.main([arguments[0], "--engine=spark", *arguments[1:]])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
