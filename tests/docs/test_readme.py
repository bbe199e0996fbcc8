"""The examples in the README that are marked as tested run, word for word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch

README = Path(__file__).parent.parent.parent / "README.md"
EXAMPLES = re.findall(
    r"^<!-- tested -->\n```python\n(.*?)^```$",
    README.read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_there_is_an_example():
    assert README.read_text(encoding="utf-8").count("<!-- tested -->") == len(EXAMPLES) > 0


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(example, tmp_path):
    source = str(Path(anabranch.__file__).parent.parent)
    ran = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
