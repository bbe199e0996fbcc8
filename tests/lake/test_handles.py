"""Repositories, references and branches by their names: reading and changing them."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from anabranch.errors import NoChanges, NotFound, PreconditionFailed
from anabranch.lake.object_file import ObjectFile
from anabranch.model.objects.stat import CommonPrefix


def test_names_are_shown_and_compared(lake, sea, main):
    assert repr(sea) == f"RepositoryHandle('lakefs://{sea.name}')"
    assert repr(main) == f"BranchHandle('lakefs://{sea.name}/main')"
    assert repr(sea.ref("main~2")) == f"ReferenceHandle('lakefs://{sea.name}/main~2')"
    assert main == lake.repository(sea.name).branch("main") != sea.branch("dev")
    assert len({main, sea.branch("main")}) == 1
    with pytest.raises(NotFound):
        lake.repository("nowhere").branch("main").stat("a")


def test_what_is_written_is_read(main):
    main.write("text", "ü")
    main.write("bytes", b"1", metadata={"k": "v"}, content_type="text/x")
    main.write("chunks", iter([b"1", b"2"]))
    main.write("view", memoryview(b"123")[1:])
    found = {path: main.read(path) for path in ("text", "bytes", "chunks", "view")}
    assert found == {"text": "ü".encode(), "bytes": b"1", "chunks": b"12", "view": b"23"}
    assert main.stat("bytes").entry.metadata == {"k": "v"}
    with pytest.raises(PreconditionFailed):
        main.write("text", "2", if_absent=True)
    assert main.exists("text")
    main.remove("text")
    assert not main.exists("text")
    with pytest.raises(NotFound):
        main._lake.repository(main.repository).branch("nothing").exists("text")


@pytest.mark.sample(1)
def test_listings_go_on_by_themselves(sea, main):
    paths = [f"a/{number:04}" for number in range(1003)] + ["b"]
    for path in paths:
        main.write(path, b"")
    assert [each.path for each in main.objects()] == paths
    assert [each.path for each in main.objects("a/000")] == paths[:10]
    folders = list(main.objects(delimiter="/"))
    assert (type(folders[0]), folders[0].path, folders[1].path) == (CommonPrefix, "a/", "b")
    assert [each.path for each in main.changes()] == paths
    main.commit("many")
    assert len(list(sea.ref("main~").diff(main))) == 1004
    assert len(list(sea.ref("main~").diff("main", prefix="b", two_dot=True))) == 1


def test_history_branches_and_tags(lake, sea, main):
    first = main.commit_at()
    main.write("a", b"1")
    second = main.commit("second", metadata={"k": "v"})
    assert [each.id for each in main.log()] == [second.id, first.id]
    assert second.metadata == {"k": "v"}
    dev = sea.branch("dev").create("main")
    assert [each.name for each in sea.branches()] == ["dev", "main"]
    assert [each.name for each in sea.branches("d")] == ["dev"]
    lake.tags.create(sea.name, "v1", "main")
    (tag,) = sea.tags()
    assert tag.read("a") == b"1"
    assert tag.commit_at().id == second.id
    dev.write("b", b"2")
    assert [(each.kind, each.path) for each in dev.changes()] == [("added", "b")]
    dev.reset()
    assert list(dev.changes()) == []
    with pytest.raises(NoChanges):
        dev.commit("nothing")
    dev.write("b", b"2")
    dev.commit("third")
    merged = main.merge(dev, "in", squash=True)
    assert next(main.log()).id == merged == main.commit_at().id
    assert main.read("b") == b"2"
    dev.delete()
    assert [each.name for each in sea.branches()] == ["main"]


def test_files_are_read_and_written(main):
    with main.open("a.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", "ü"], [1, 2]])
        assert not main.exists("a.csv")
    assert main.read("a.csv") == "a,ü\r\n1,2\r\n".encode()
    with main.open("a.csv") as file:
        assert file.readlines() == ["a,ü\n", "1,2\n"]
    with main.open("latin", "w", encoding="latin-1") as file:
        file.write("ü")
    with main.open("latin", encoding="latin-1") as file:
        assert file.read() == "ü"
    with main.open("binary", "wb") as file:
        assert isinstance(file, io.BufferedIOBase)
        assert (file.writable(), file.readable(), file.mode) == (True, False, "wb")
        file.write(bytes(9 << 20))
        file.write(b"end")
        assert file.tell() == (9 << 20) + 3
    with main.open("binary", "rb") as file:
        assert isinstance(file, ObjectFile)
        file.seek(-3, io.SEEK_END)
        assert file.read() == b"end"
    for mode in ("a", "r+", "x", "rw"):
        with pytest.raises(ValueError, match="mode"):
            main.open("a.csv", mode)
    with pytest.raises(ValueError, match="mode"):
        main._lake.repository(main.repository).ref("main").open("a.csv", "w")


def test_pandas_writes_and_reads(main):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with main.open("t.parquet", "wb") as file:
        frame.to_parquet(file)
    pd.testing.assert_frame_equal(pd.read_parquet(main.open("t.parquet", "rb")), frame)
    with main.open("t.csv", "w") as file:
        frame.to_csv(file, index=False)
    pd.testing.assert_frame_equal(pd.read_csv(main.open("t.csv", "rb")), frame)


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_file_whose_block_fails_is_not_stored(main, mode):
    content = "x" if mode == "w" else b"x"

    def failing():
        with main.open("a", mode) as file:
            file.write(content)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    file = main.open("a", mode)
    file.write(content)
    del file
    assert not main.exists("a")
    file = main.open("a", mode)
    file.write(content)
    file.close()
    file.close()
    assert main.read("a") == b"x"
    with pytest.raises(ValueError, match="closed"):
        file.write(content)


def test_a_file_that_cannot_be_stored_says_so_when_it_is_closed(sea):
    file = sea.branch("nothing").open("a", "wb")
    file.write(b"1")
    with pytest.raises(NotFound):
        file.close()
    assert file.closed


def test_differences_become_a_data_frame(lake, sea, main):
    main.write("a", b"1")
    main.write("b", b"22")
    page = lake.branches.changes(sea.name, "main", amount=10)
    frame = page.to_pandas()
    assert list(frame["path"]) == ["a", "b"]
    assert list(frame["bytes after"]) == [1, 2]
    assert len(lake.branches.changes(sea.name, "main", prefix="z", amount=10).to_pandas()) == 0
