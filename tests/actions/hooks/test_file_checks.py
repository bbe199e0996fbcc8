"""Checks of files and of the commit: what they refuse, what they let pass, what they read."""

import gzip
import io
import time

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.hooks.hook_runs import EVENT, hook_context

from anabranch.actions.hooks.checks import changed_files
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed, Invalid


def run(lake, properties, **context):
    given = {"reference": "dev", "base": "main", **context}
    context = hook_context(lake, **given)
    make_hook("check", properties).run(context)
    return context.output.text()


def fails(lake, properties, **context):
    with pytest.raises(HookFailed) as failed:
        run(lake, properties, **context)
    return failed.value.message


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def avro():
    stream = io.BytesIO()
    fastavro.writer(stream, {"type": "record", "name": "r", "fields": []}, [])
    return stream.getvalue()


def test_files_outside_of_the_folders_are_named(lake):
    lake.save("main", {"old.txt": b"old", "stray.txt": b"s"})
    lake.lake.branches.delete("flights", "dev")
    lake.lake.branches.create("flights", "dev", "main")
    lake.save("dev", {"tables/a": b"1", "docs/b": b"2"})
    rules = {"files": [{"within": ["tables/", "docs/"]}]}
    run(lake, rules)
    lake.lake.objects.delete("flights", "dev", "stray.txt")
    run(lake, rules)  # a removed file need not be anywhere
    lake.put("dev", **{"old.txt": b"new", "tablesx/c": b"3"})
    reason = fails(lake, rules)
    assert "old.txt is not under tables/ or docs/" in reason
    assert "tablesx/c" in reason
    assert "tables/a" not in reason


def test_uncommitted_changes_count(lake):
    lake.put("dev", stray=b"1")
    assert "stray" in fails(lake, {"files": [{"within": ["tables/"]}]})


def test_without_a_base_all_files_are_examined(lake):
    lake.save("main", {"stray": b"1", "tables/a": b"2"})
    reason = fails(lake, {"files": [{"within": ["tables/"]}]}, reference="main", base=None)
    assert reason.startswith("stray is not under tables/")


def test_a_pattern_limits_a_rule(lake):
    lake.save("dev", {"raw/a.txt": b"12345", "tables/a.txt": b"12345"})
    rules = {"files": [{"path": "raw/*", "max_size": 4}]}
    assert fails(lake, rules).startswith("raw/a.txt has 5 bytes, more than the 4 allowed")


@pytest.mark.parametrize(
    ("text", "size"),
    [(0, 0), ("5", 5), ("5 B", 5), ("1 KB", 1000), ("1KiB", 1024), ("1.5 MiB", 3 << 19)],
)
def test_sizes_are_numbers_of_bytes_or_have_units(text, size):
    (rule,) = make_hook("check", {"files": [{"max_size": text}]}).files
    assert rule.max_size == size


@pytest.mark.parametrize(
    ("path", "content", "formats"),
    [
        ("a.parquet", parquet(x=[1]), ["parquet"]),
        ("A.PARQUET", parquet(x=[1]), ["csv", "Parquet"]),
        ("a.avro", avro(), ["avro"]),
        ("a.csv.gz", gzip.compress(b"a,b"), ["gzip"]),
        ("a.csv", "é,ü\n".encode() * 20_000, ["csv"]),
        ("a.csv", b"x" + "é".encode() * 60_000, ["csv"]),
        ("a.csv", b"", ["csv"]),
        ("a.png", b"\x89PNG", ["png"]),
        ("a.png", b"\x89PNG", [".png"]),
    ],
    ids=range(9),  # the bytes of some files depend on the time
)
@pytest.mark.sample(3)
def test_files_of_allowed_formats_pass(lake, path, content, formats):
    lake.save("dev", {path: content})
    run(lake, {"files": [{"formats": formats}]})


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("a.txt", b"text", "its name ends with none of .parquet, .pq, .csv"),
        ("csv", b"text", "its name ends with none of"),
        ("folder.csv/a", b"text", "its name ends with none of"),
        ("a.parquet", b"PAR1", "its content is not parquet"),
        ("a.parquet", b"PAR1PAR", "its content is not parquet"),
        ("a.parquet", parquet(x=[1])[:-1], "its content is not parquet"),
        ("a.parquet", b"", "its content is not parquet"),
        ("a.csv", parquet(x=[1]), "its content is not csv"),
        ("a.csv", b"\xff\xfea", "its content is not csv"),
        ("a.csv", "é".encode()[:1], "its content is not csv"),
    ],
)
@pytest.mark.sample(5)
def test_files_of_other_formats_are_refused(lake, path, content, reason):
    lake.save("dev", {path: content})
    found = fails(lake, {"files": [{"formats": ["parquet", "csv"]}]})
    assert found.startswith(f"{path}: {reason}")
    assert found.endswith("allowed here: parquet, csv")


def test_only_changed_files_are_read(lake):
    lake.save("main", {f"{number}.csv": b"a" for number in range(5)})
    lake.lake.branches.delete("flights", "dev")
    lake.lake.branches.create("flights", "dev", "main")
    lake.save("dev", {"3.csv": b"b"})
    run(lake, {"files": [{"formats": ["csv"]}]})
    assert {path for path, _, _ in lake.reads} == {"3.csv"}


@pytest.mark.parametrize("base", ["main", None])
def test_many_changes_are_read_page_by_page(lake, monkeypatch, base):
    monkeypatch.setattr(changed_files, "MAX_AMOUNT", 3)
    lake.put("dev", **{f"{number:02}": b"x" for number in range(10)})
    context = hook_context(lake, reference="dev", base=base)
    with pytest.raises(HookFailed, match="and 7 more"):
        make_hook("check", {"files": [{"max_size": 0}]}).run(context)
    assert [line.split()[0] for line in context.output.text().splitlines()] == [
        f"{number:02}" for number in range(10)
    ]


def test_problems_are_counted_and_limited(lake):
    lake.put("dev", **{f"{number:03}": b"x" for number in range(101)})
    context = hook_context(lake, reference="dev", base="main")
    with pytest.raises(HookFailed) as failed:
        make_hook("check", {"files": [{"max_size": 0}]}).run(context)
    assert failed.value.message.endswith("; and 97 more in the output of the hook")
    assert "there may be more than these 100 problems" in context.output.text()


def test_a_check_of_many_files_ends_in_time(lake):
    lake.put("dev", **{f"{number}.csv": b"" for number in range(20)})
    reason = fails(lake, {"files": [{"formats": ["csv"]}]}, deadline=time.monotonic())
    assert reason == "the check of files did not finish in time"
    assert lake.reads == []


def test_required_metadata_of_the_commit(lake):
    run(lake, {"commit_metadata": ["ticket"]})
    run(lake, {"commit_metadata": {"ticket": "FL-[0-9]"}})
    assert fails(lake, {"commit_metadata": ["owner"]}) == (
        "the commit has no metadata owner: commit with owner=…"
    )
    assert fails(lake, {"commit_metadata": {"ticket": "JIRA-*"}}) == (
        "the commit's metadata ticket is 'FL-7', which is not JIRA-*"
    )
    empty = type(EVENT)(**{**_fields(EVENT), "commit_metadata": {"ticket": ""}})
    assert "no metadata ticket" in fails(lake, {"commit_metadata": ["ticket"]}, event=empty)


def _fields(struct):
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({}, "a check needs tables, files or commit_metadata"),
        ({"files": {}}, "property files: must be a list"),
        ({"files": ["x"]}, "property files[0]: must be a mapping"),
        ({"files": [{}]}, "property files[0]: a rule for files needs"),
        ({"files": [{"max_size": 1}, {"max_size": "x"}]}, "property files[1].max_size: must be a"),
        ({"files": [{"max_size": -1}]}, "property files[0].max_size: must be a number"),
        ({"files": [{"formats": [1]}]}, "property files[0].formats: must be a list of texts"),
        ({"files": [{"format": "csv"}]}, "property files[0].format: is unknown"),
        ({"commit_metadata": {"a": 1}}, "property commit_metadata.a: must be a pattern"),
        ({"commit_metadata": {"a": "[b"}}, "property commit_metadata.a: the pattern '[b'"),
        ({"commit_metadata": 3}, "property commit_metadata: must be a mapping"),
        ({"table": []}, "property table: is unknown"),
    ],
)
def test_wrong_properties_are_named(properties, reason):
    with pytest.raises(Invalid) as refused:
        make_hook("check", properties)
    assert refused.value.message.startswith(reason)
    assert refused.value.kind == "invalid_hook"
