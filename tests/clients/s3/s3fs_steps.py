"""Steps with s3fs, each a function: a program of its own, for s3fs needs older libraries than ours.

    python s3fs_steps.py STEP BUCKET

Amazon's variables say where the server is and who asks. The bucket has two empty branches, `main`
and `copy`. A step that fails ends with its traceback.
"""

from __future__ import annotations

import datetime as dt
import sys
import urllib.request

import s3fs
from botocore.exceptions import ClientError
from support.clients.odd_keys import ODD_KEYS
from support.clients.round_trip import round_trip

PART = 5 * 1024 * 1024


def files(fs, base):
    fs.pipe_file(f"{base}/a b", b"content")
    assert fs.cat_file(f"{base}/a b") == b"content"
    assert fs.cat_file(f"{base}/a b", start=1, end=3) == b"on"
    assert fs.cat_ranges([f"{base}/a b"] * 2, [0, 4], [3, 7]) == [b"con", b"ent"]
    with fs.open(f"{base}/text", "w", encoding="utf-8") as file:
        file.write("é\nb\n")
    with fs.open(f"{base}/text", "r", encoding="utf-8") as file:
        assert file.readlines() == ["é\n", "b\n"]
    fs.touch(f"{base}/empty")
    assert fs.info(f"{base}/empty")["size"] == 0
    response = fs.info(f"{base}/a b")
    assert (response["size"], response["type"], response["ETag"][:2]) == (7, "file", '"9')
    assert abs(fs.modified(f"{base}/a b") - dt.datetime.now(dt.UTC)).seconds < 60
    try:
        fs.cat_file(f"{base}/none")
    except FileNotFoundError:
        return
    raise AssertionError("none was found")


def folders(fs, base):
    for path in ("a/1", "a/b/2", "a/b/c/3", "d/4"):
        fs.pipe_file(f"{base}/{path}", path.encode())
    bucket = base.partition("/")[0]
    assert fs.ls(bucket) == [f"{bucket}/copy", f"{bucket}/main"]
    assert fs.ls(f"{base}/a", detail=False) == [f"{base}/a/1", f"{base}/a/b"]
    assert len(fs.find(base)) == 4
    assert fs.glob(f"{base}/a/**/[23]") == [f"{base}/a/b/2", f"{base}/a/b/c/3"]
    walked = {path: (folders, files) for path, folders, files in fs.walk(f"{base}/a")}
    assert walked[f"{base}/a/b"] == (["c"], ["2"])
    assert fs.isdir(f"{base}/a/b")
    assert fs.isfile(f"{base}/a/b/2")
    assert fs.du(base) == sum(len(path) for path in ("a/1", "a/b/2", "a/b/c/3", "d/4"))
    assert not fs.exists(f"{base}/a/x")
    assert bucket in fs.ls("")
    fs.makedirs(f"{base}/e/f", exist_ok=True)
    fs.rm(f"{base}/a", recursive=True)
    assert fs.find(base) == [f"{base}/d/4"]


def moves(fs, base):
    fs.pipe({f"{base}/a/{number}": str(number).encode() for number in range(5)})
    fs.copy(f"{base}/a/", f"{base}/b/", recursive=True)
    fs.mv(f"{base}/b/1", f"{base}/b/one")
    other = base.replace("/main", "/copy")
    fs.copy(f"{base}/b/one", f"{other}/one")
    assert fs.cat_file(f"{other}/one") == b"1"
    assert [path.rpartition("/")[2] for path in fs.ls(f"{base}/b")] == ["0", "2", "3", "4", "one"]
    fs.rm([f"{base}/a/0", f"{base}/a/1"])
    assert len(fs.ls(f"{base}/a")) == 3


def parts(fs, base):
    content = bytes(range(256)) * 4096 * 13
    with fs.open(f"{base}/large", "wb", block_size=PART) as file:
        file.write(content)
    assert fs.cat_file(f"{base}/large") == content
    with fs.open(f"{base}/large", "rb", block_size=PART) as file:
        file.seek(PART + 17)
        assert file.read(100) == content[PART + 17 : PART + 117]
    with fs.open(f"{base}/large", "ab", block_size=PART) as file:
        file.write(b"end")
    assert fs.info(f"{base}/large")["size"] == len(content) + 3
    assert fs.tail(f"{base}/large", 5) == content[-2:] + b"end"
    with fs.open(f"{base}/never", "wb", block_size=PART) as file:
        file.write(content)
        file.discard()
        file.closed = True
    assert not fs.exists(f"{base}/never")


def metadata(fs, base):
    with fs.open(f"{base}/a", "wb", Metadata={"depth": "10935"}, ContentType="text/x") as file:
        file.write(b"content")
    assert fs.metadata(f"{base}/a") == {"depth": "10935"}
    assert fs.info(f"{base}/a")["ContentType"] == "text/x"
    fs.setxattr(f"{base}/a", sea="north")
    assert fs.metadata(f"{base}/a") == {"depth": "10935", "sea": "north"}
    fs.put_tags(f"{base}/a", {"k": "v w"})
    assert fs.get_tags(f"{base}/a") == {"k": "v w"}
    with urllib.request.urlopen(fs.sign(f"{base}/a", expiration=60)) as answer:
        assert answer.read() == b"content"


def conditions(fs, base):
    fs.pipe_file(f"{base}/a", b"first", mode="create")
    for write in (
        lambda: fs.pipe_file(f"{base}/a", b"second", mode="create"),
        lambda: fs.call_s3("put_object", Bucket=base.partition("/")[0], Key="main/a", IfMatch="x"),
    ):
        try:
            write()
        except (FileExistsError, ClientError, OSError):
            continue
        raise AssertionError("a condition did not hold and no error was raised")
    assert fs.cat_file(f"{base}/a") == b"first"


class Keys:
    """s3fs as a client of keys."""

    def __init__(self, fs, bucket):
        self.fs = fs
        self.bucket = bucket

    def put(self, key, content):
        self.fs.pipe_file(f"{self.bucket}/{key}", content)

    def get(self, key):
        return self.fs.cat_file(f"{self.bucket}/{key}")

    def size(self, key):
        return self.fs.info(f"{self.bucket}/{key}", refresh=True)["size"]

    def keys(self, branch):
        self.fs.invalidate_cache()
        found = self.fs.find(f"{self.bucket}/{branch}")
        return [path.removeprefix(f"{self.bucket}/") for path in found]

    def copy(self, source, target):
        self.fs.cp_file(f"{self.bucket}/{source}", f"{self.bucket}/{target}")

    def delete(self, key):
        self.fs.rm_file(f"{self.bucket}/{key}")


def odd_keys(fs, base):
    """s3fs reads a version out of the end of a path, and leaves out a slash there on looking."""
    keys = [key for key in ODD_KEYS if not ("?versionId=" in key or key.endswith("/"))]
    round_trip(Keys(fs, base.partition("/")[0]), keys)


STEPS = {
    step.__name__: step for step in (files, folders, moves, parts, metadata, conditions, odd_keys)
}

if __name__ == "__main__":
    STEPS[sys.argv[1]](s3fs.S3FileSystem(), f"{sys.argv[2]}/main")
