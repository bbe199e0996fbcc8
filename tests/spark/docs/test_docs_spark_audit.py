"""docs/spark-audit.md: its queries run, and their results are those of the history."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[3] / "docs" / "spark-audit.md").read_text(encoding="utf-8")
SETUP, WHO, BETWEEN, BRANCHES, DUPLICATES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def run(spark, server, repository, capfd):
    """Returns a function that runs an example and returns the words of each line of its output."""
    repository.tag("v1").create("main~1")
    main = repository.branch("main")
    names = {"spark": spark}
    replacements = {
        "http://HOST:8000": server.url,
        "SECRET_ACCESS_KEY": server.secret_access_key,
        "ACCESS_KEY_ID": server.access_key_id,
        "rides-of-the-city": repository.id,
        "rides/": "a/",
    }

    def run(example):
        for old, new in replacements.items():
            example = example.replace(old, new)
        capfd.readouterr()
        exec(example, names)  # noqa: S102
        output = capfd.readouterr().out
        lines = [re.sub(r"[ +|]+", " ", line).split() for line in output.splitlines()]
        return [line for line in lines if line and not line[0].startswith("--")]

    dev = repository.branch("dev").create("main")
    dev.object("large").upload(b"x" * 1000)
    dev.commit("Large")
    main.object("a/copy").upload(b"content of a/1", content_type="text/plain")
    main.object("b").upload(b"content of a/1", content_type="text/plain")
    main.commit("Copies")
    run(SETUP)
    return run


@pytest.mark.slow
def test_changes_and_branches_and_duplicates(run):
    assert run(BETWEEN) == [["change", "count"], ["added", "2"]]
    sizes = dict(line.split() for line in map(" ".join, (x[:2] for x in run(BRANCHES))))
    own = {line[0]: line[2] for line in run(BRANCHES)}
    assert (own["main"], int(own["dev"])) == ("0", 1000)
    assert int(sizes["main"]) == 14 * 5
    assert int(sizes["dev"]) == 1000 + 14 * 3
    header, first, *_ = run(DUPLICATES)
    assert header == ["checksum", "copies", "first", "bytes"]
    assert first[1:] == ["3", "a/1", "28"]


@pytest.mark.slow
def test_who_changed_what(run):
    """Spark gives its worker ten seconds to start, which may be too short on a busy machine."""
    for _ in range(20):
        try:
            header, only = run(WHO)
            break
        except StreamingQueryException as error:
            if "worker failed to connect back" not in str(error):
                raise
    assert header == ["committer", "change", "changes", "first", "last"]
    assert only[1:4] == ["added", "3", "a/1"]
