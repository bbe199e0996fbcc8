"""`python -m anabranch.spark import|gc|export …`: a job on Spark, for `spark-submit`.

The arguments are those of the command line, which runs the job. The engine is Spark, and its master
is that of `spark-submit`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

__all__ = ["main"]

_JOBS = ("import", "gc", "export")


def main(words: Sequence[str]) -> int:
    """Runs a job and returns the exit code of the command."""
    if not words or words[0] not in _JOBS:
        sys.stderr.write(f"usage: python -m anabranch.spark {'|'.join(_JOBS)} …\n")
        return 2
    # imported by name: the command line depends on Spark, not the reverse
    command = import_module("anabranch.cli.main")
    code: int = command.main([words[0], "--engine=spark", *words[1:]])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
