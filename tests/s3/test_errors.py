"""The table of S3's errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch.s3
from anabranch.errors import AnabranchError
from anabranch.s3.protocol.errors import CODES, S3Error

SOURCES = sorted(Path(anabranch.s3.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_code_that_is_raised_is_in_the_table(path):
    raised = re.findall(r'S3Error\(\s*"(\w+)"', path.read_text(encoding="utf-8"))
    assert set(raised) <= set(CODES)


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        CODES["AccessDenied"] = CODES["BadDigest"]


def test_an_error_has_a_code_a_status_and_a_message():
    error = S3Error("AccessDenied", "Request has expired", Expires="1970-01-01T00:00:00Z")
    assert isinstance(error, AnabranchError)
    assert (error.code, error.kind, error.status) == ("AccessDenied", "AccessDenied", 403)
    assert (str(error), error.message) == ("Request has expired", "Request has expired")
    assert error.details == {"Expires": "1970-01-01T00:00:00Z"}
    assert S3Error("IncompleteBody").message == CODES["IncompleteBody"].message
