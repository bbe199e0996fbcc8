"""lakefs-spec: a repository as a file system of fsspec."""

from __future__ import annotations

import datetime as dt

import fsspec
import pytest
from lakefs_spec import LakeFSFileSystem

FILES = {
    "README.md": b"# Rivers\n",
    "data/2025/a.csv": b"a,b\n1,2\n",
    "data/2026/b.csv": b"a,b\n3,4\n",
    "data/top.csv": b"a,b\n5,6\n",
    "database": b"no folder",
}


@pytest.fixture
def fs(credentials):
    return LakeFSFileSystem(**credentials, skip_instance_cache=True, use_listings_cache=False)


@pytest.fixture
def root(repo):
    return f"lakefs://{repo.id}/main"


@pytest.fixture
def filled(repo, root):
    """The root of a repository with the files in it."""
    for path, content in FILES.items():
        repo.put(path, content)
    return root


def names(listed, root):
    """Returns paths within the root."""
    stem = root.removeprefix("lakefs://") + "/"
    return sorted(name.removeprefix(stem) for name in listed)


@pytest.mark.wiring
def test_a_folder_is_listed(fs, filled):
    top = fs.ls(f"{filled}/", detail=False)
    assert names(top, filled) == ["README.md", "data/", "database"]
    for path in ("data", "data/"):
        inner = fs.ls(f"{filled}/{path}", detail=False)
        assert names(inner, filled) == ["data/2025/", "data/2026/", "data/top.csv"]
    everything = fs.ls(f"{filled}/data/", detail=False, recursive=True)
    assert set(FILES) & set(names(everything, filled)) == {p for p in FILES if p[:5] == "data/"}


def test_info_describes_files_and_folders(fs, filled):
    info = fs.info(f"{filled}/data/top.csv")
    assert (info["type"], info["size"]) == ("file", 8)
    assert info["checksum"] == fs.checksum(f"{filled}/data/top.csv")
    assert info["content-type"] == "application/octet-stream"
    folder = fs.info(f"{filled}/data")
    assert folder["type"] == "directory"
    assert fs.isfile(f"{filled}/README.md")
    assert fs.isdir(f"{filled}/data/2025")
    assert fs.size(f"{filled}/README.md") == 9
    with pytest.raises(FileNotFoundError):
        fs.info(f"{filled}/nope")


def test_existence(fs, filled, repo):
    for path in ("README.md", "data", "data/", "data/2025/a.csv", ""):
        assert fs.exists(f"{filled}/{path}"), path
    for path in ("nope", "data/2", "READ"):
        assert not fs.exists(f"{filled}/{path}"), path
    assert not fs.exists(f"lakefs://{repo.id}/nope/README.md")
    assert not fs.exists("lakefs://no-such-repository/main/README.md")


def test_files_are_found_by_walking_and_by_pattern(fs, filled):
    assert names(fs.find(f"{filled}/"), filled) == sorted(FILES)
    assert names(fs.find(f"{filled}/data/"), filled) == sorted(p for p in FILES if p[:5] == "data/")
    assert names(fs.glob(f"{filled}/data/*/*.csv"), filled) == [
        "data/2025/a.csv",
        "data/2026/b.csv",
    ]
    assert names(fs.glob(f"{filled}/**/*.csv"), filled) == sorted(
        p for p in FILES if p.endswith(".csv")
    )
    walked = {
        f"{folder}/{name}".split("/", 2)[2]
        for folder, _, files in fs.walk(f"{filled}/")
        for name in files
    }
    assert {path.lstrip("/") for path in walked} == set(FILES)
    assert fs.du(f"{filled}/") == sum(map(len, FILES.values()))


def test_content_is_read_whole_and_in_parts(fs, filled):
    path = f"{filled}/data/top.csv"
    assert fs.cat(path) == fs.cat_file(path) == FILES["data/top.csv"]
    assert fs.cat_file(path, start=2, end=5) == FILES["data/top.csv"][2:5]
    assert fs.cat_ranges([path, path], [0, 4], [3, 8]) == [b"a,b", b"5,6\n"]
    assert fs.head(path, 3) == b"a,b"
    assert fs.tail(path, 4) == b"5,6\n"
    assert fs.read_text(path) == "a,b\n5,6\n"
    several = fs.cat([f"{filled}/README.md", path])
    assert sorted(several.values()) == sorted([FILES["README.md"], FILES["data/top.csv"]])
    with fs.open(path, "r") as file:
        assert file.readline() == "a,b\n"
    with pytest.raises(FileNotFoundError):
        fs.cat(f"{filled}/nope")


def test_content_is_written_in_many_ways(fs, root, tmp_path):
    fs.pipe(f"{root}/piped", b"1")
    fs.pipe({f"{root}/two": b"2", f"{root}/three": b"3"})
    fs.write_text(f"{root}/text", "Füße")
    fs.write_bytes(f"{root}/bytes", b"5")
    fs.touch(f"{root}/touched")
    with fs.open(f"{root}/opened", "wb", metadata={"colour": "blue"}) as file:
        file.write(b"6")
    assert fs.info(f"{root}/opened")["metadata"] == {"colour": "blue"}
    (tmp_path / "local").write_bytes(b"7")
    fs.put_file(tmp_path / "local", f"{root}/put")
    contents = {path: fs.cat_file(f"{root}/{path}") for path in names(fs.find(root + "/"), root)}
    assert contents == {
        "bytes": b"5",
        "opened": b"6",
        "piped": b"1",
        "put": b"7",
        "text": "Füße".encode(),
        "three": b"3",
        "touched": b"",
        "two": b"2",
    }


def test_a_file_is_created_once(fs, filled):
    with pytest.raises(FileExistsError), fs.open(f"{filled}/README.md", "xb") as file:
        file.write(b"again")
    assert fs.cat(f"{filled}/README.md") == FILES["README.md"]


def test_folders_go_up_and_down(fs, root, tmp_path):
    up, down = tmp_path / "up", tmp_path / "down"
    for path, content in FILES.items():
        (up / path).parent.mkdir(parents=True, exist_ok=True)
        (up / path).write_bytes(content)
    fs.put(f"{up}/", f"{root}/folder/", recursive=True)
    assert names(fs.find(f"{root}/"), root) == sorted(f"folder/{path}" for path in FILES)
    fs.get(f"{root}/folder/", f"{down}/", recursive=True)
    found = {
        str(path.relative_to(down)): path.read_bytes() for path in down.rglob("*") if path.is_file()
    }
    assert found == FILES
    fs.get_file(f"{root}/folder/README.md", tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == FILES["README.md"]


def test_files_are_copied_and_moved(fs, filled, repo):
    fs.cp_file(f"{filled}/README.md", f"{filled}/copy.md")
    fs.cp(f"{filled}/data/", f"{filled}/data-copy/", recursive=True)
    fs.mv(f"{filled}/database", f"{filled}/moved")
    assert fs.cat(f"{filled}/copy.md") == FILES["README.md"]
    assert fs.cat(f"{filled}/data-copy/2025/a.csv") == FILES["data/2025/a.csv"]
    assert fs.cat(f"{filled}/moved") == FILES["database"]
    assert not fs.exists(f"{filled}/database")
    repo.commit()
    repo.branch("side")
    fs.cp_file(f"{filled}/README.md", f"lakefs://{repo.id}/side/from-main.md")
    assert fs.cat(f"lakefs://{repo.id}/side/from-main.md") == FILES["README.md"]
    with pytest.raises(ValueError, match="within a repository"):
        fs.cp_file(f"{filled}/README.md", "lakefs://other/main/README.md")


def test_files_are_removed(fs, filled):
    fs.rm(f"{filled}/README.md")
    fs.rm(f"{filled}/data/", recursive=True)
    assert names(fs.find(f"{filled}/"), filled) == ["database"]


@pytest.mark.usefixtures("filled")
def test_writing_makes_the_branch_that_is_not_there(fs, repo):
    repo.commit()
    fs.pipe(f"lakefs://{repo.id}/fresh/new", b"1")
    assert fs.cat(f"lakefs://{repo.id}/fresh/README.md") == FILES["README.md"]
    assert repo.paths("main") == sorted(FILES)
    strict = LakeFSFileSystem(**fs.storage_options | {"create_branch_ok": False})
    with pytest.raises(FileNotFoundError):
        strict.pipe(f"lakefs://{repo.id}/other/new", b"1")


def test_times(fs, filled):
    age = dt.datetime.now(dt.UTC) - fs.modified(f"{filled}/README.md")
    assert abs(age) < dt.timedelta(minutes=1)
    assert fs.created(f"{filled}/README.md") == fs.modified(f"{filled}/README.md")


@pytest.mark.usefixtures("filled")
def test_commits_are_read_and_not_written(fs, repo):
    commit = repo.commit()
    assert fs.cat(f"lakefs://{repo.id}/{commit.id}/README.md") == FILES["README.md"]
    with pytest.raises(OSError, match="40"):
        fs.pipe(f"lakefs://{repo.id}/{commit.id}/new", b"1")


def test_a_stranger_is_not_permitted(credentials, filled):
    stranger = LakeFSFileSystem(**credentials | {"password": "wrong"})
    for call in (stranger.ls, stranger.info, stranger.exists):
        with pytest.raises(PermissionError):
            call(f"{filled}/README.md")


def test_the_address_alone_is_enough(credentials, filled):
    with fsspec.open(f"{filled}/README.md", "rt", **credentials) as file:
        assert file.read() == "# Rivers\n"
