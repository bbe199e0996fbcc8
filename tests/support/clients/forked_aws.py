"""The AWS command line for tests, forked by a Python that has imported it: most of what a command
costs is the import of its modules and those of botocore.

It runs in the Python of `make clients`, and so does this module. `make test-all` starts the program
itself, as people do.
"""

from __future__ import annotations

import importlib
import sys
import time
from functools import cache
from pathlib import Path

from anabranch.testing.exits import exit_after
from anabranch.testing.forked_programs import ForkedPrograms, prepare_to_fork, start_programs
from support.session.forked_python import can_fork

__all__ = ["forked_aws"]

_MODULES = ("awscli.clidriver", "awscli.handlers", "awscli.customizations.s3.subcommands")


@cache
def forked_aws(clients_bin: Path) -> Path:
    """Returns a program that does what `aws` of a folder of programs does."""
    if not can_fork():
        return clients_bin / "aws"
    return start_programs(__name__, ["aws"], python=str(clients_bin / "python")) / "aws"


def _main() -> None:
    prepare_to_fork(_MODULES)
    sys.argv[:] = ForkedPrograms(int(sys.argv[1])).serve()
    time.tzset()
    importlib.reload(sys.modules["awscli"])  # it says in the environment where its data are
    exit_after(lambda: sys.exit(sys.modules["awscli.clidriver"].main()))


if __name__ == "__main__":
    _main()
