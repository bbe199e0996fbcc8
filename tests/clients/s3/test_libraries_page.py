"""The examples of `docs/s3-libraries.md`, run as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support.services.program import Program

PAGE = Path(__file__).parents[3] / "docs" / "s3-libraries.md"
SECTION = re.compile(r"^## (.*?)\n.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(SECTION.findall(PAGE.read_text(encoding="utf-8")))


def test_every_example_is_found():
    assert PAGE.read_text(encoding="utf-8").count("```python") == len(EXAMPLES) == 4


@pytest.mark.parametrize("section", EXAMPLES)
@pytest.mark.sample(1)
def test_an_example_runs(section, server, repo, tmp_path, request):
    text = EXAMPLES[section]
    for written, meant in {
        "127.0.0.1:8000": server.url.removeprefix("http://"),
        "AKIAIOSFODNN7EXAMPLE": server.access_key_id,
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": server.secret_access_key,
    }.items():
        assert written in text
        text = text.replace(written, meant)
    text = re.sub(r"\bsea\b", repo.id, text)
    own = section == "s3fs"
    python = request.getfixturevalue("clients_bin") / "python" if own else sys.executable
    Program([python, "-W", "error::SyntaxWarning", "-c"], folder=tmp_path)(text)
    assert repo.paths()
