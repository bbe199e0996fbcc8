"""docs/write-audit-publish.md: its job publishes a night, and keeps a wrong one from readers."""

from __future__ import annotations

import re

import pytest
from support.checkout import ROOT

import anabranch

PAGE = (ROOT / "docs/write-audit-publish.md").read_text(encoding="utf-8")
S3A_PAGE = (ROOT / "docs/spark-s3a.md").read_text(encoding="utf-8")
CONFIGURED, JOB = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.slow  # an example; test_spark_s3a.py writes and merges
def test_a_night_is_published_only_if_its_rows_are_right(spark, server, repo, capsys):
    named = JOB
    for old, new in (
        ("http://HOST:8000", server.url),
        ("SECRET_ACCESS_KEY", server.secret_access_key),
        ("ACCESS_KEY_ID", server.access_key_id),
        ("rides-of-the-city", repo.id),
    ):
        assert old in named
        named = named.replace(old, new)
    exec(named, {"spark": spark})  # noqa: S102
    assert "3 rows are wrong: they stay on night-2026-03-02" in capsys.readouterr().out
    with anabranch.connect(server.url, server.access_key_id, server.secret_access_key) as lake:
        branches = [branch.name for branch in lake.repository(repo.id).branches()]
    assert sorted(branches) == ["main", "night-2026-03-02"]


def test_spark_is_configured_as_the_page_of_s3a_says():
    assert CONFIGURED.replace('"nightly"', '"rides"') in S3A_PAGE
