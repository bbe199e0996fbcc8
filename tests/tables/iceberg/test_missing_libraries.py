"""Without a library that reads Avro, what a manifest names is not known: that is said, and no file
counts as damaged.
"""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from anabranch.errors import NotSupported
from anabranch.tables.iceberg.named_files import named_in_manifest, named_in_manifest_list

sys.modules[{missing!r}] = None
for read in (named_in_manifest, named_in_manifest_list):
    try:
        read("m0.avro", b"Obj")
    except NotSupported as error:
        print(error.kind, error.message, error.hint)
"""


@pytest.mark.parametrize("missing", ["fastavro", "pyarrow"])
def test_a_missing_library_is_named(missing):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(missing=missing)],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    line = f"library_missing m0.avro cannot be read without {missing}"
    assert [each.startswith(line) for each in run.stdout.splitlines()] == [True, True]
    assert run.stdout.count("pip install 'anabranch[gc]'") == 2
