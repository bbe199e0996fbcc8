"""The example of docs/lakefile.md for tests: repositories and a bucket that it can be built from,
and what its image must hold, for each kind of base.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from anabranch.testing.server import Server, running_server
from support.clients.no_retry_client import Caller
from support.services.s3_service import S3Service

__all__ = ["Built", "build_example", "running_example"]

_BUCKET = "my-bucket"
_TEXT = """\
{base}
ADD "lakefs://repo2/{commit123}/path/to/collection/"                 "path/to/collection/"
ADD "lakefs://repo2/{commit456}/{date}/"   "{date}/"
ADD "lakefs://repo4/tag123/pictures/cats/"                         "pictures/animals/cats/"
ADD "s3://my-bucket/some-path/"                                    "external/some-path/"

LABEL "author=oz.katz"
LABEL "notebook_url=https://dbc-123.cloud.databricks.com/?o=12345#notebook/45678"
LABEL "spark_version=3.3.2"
"""

_DATE = "path/to/collection/date=11072022"
_REPO1 = {
    "README.md": b"# Rivers\n",
    "base/model.bin": bytes(range(256)) * 5_000,
    "path/to/collection/a.csv": b"of repo1, which lies under",
}
_COMMIT123 = {
    "path/to/collection/a.csv": b"depth\n1\n",
    "path/to/collection/b.csv": b"",
    f"{_DATE}/part-0.csv": b"old",
    "path/elsewhere": b"not asked for",
}
_COMMIT456 = {
    f"{_DATE}/part-0.csv": b"new",
    f"{_DATE}/part-1.csv": b"newer",
    "path/to/collection/c.csv": b"not asked for",
}
_REPO4 = {
    "pictures/cats/tom.jpg": b"\xff\xd8 tom",
    "pictures/cats/Größe von %20 Ä+b.jpg": b"\xff\xd8 a name",
    "pictures/dogs/rex.jpg": b"\xff\xd8 not asked for",
}
_OBJECTS = {
    "some-path/one.json": b"{}",
    "some-path/deep/er/two.json": b'{"two": 2}',
    "some-paths/three.json": b"not asked for",
}
_OVER = {
    "path/to/collection/a.csv": b"depth\n1\n",
    "path/to/collection/b.csv": b"",
    f"{_DATE}/part-0.csv": b"new",
    f"{_DATE}/part-1.csv": b"newer",
    "pictures/animals/cats/tom.jpg": b"\xff\xd8 tom",
    "pictures/animals/cats/Größe von %20 Ä+b.jpg": b"\xff\xd8 a name",
    "external/some-path/one.json": b"{}",
    "external/some-path/deep/er/two.json": b'{"two": 2}',
}


class Built(NamedTuple):
    """An image: its tag, the Lakefile that it is from, and its contents by path."""

    tag: str
    lakefile: str
    contents: dict[str, bytes]


@contextmanager
def running_example(folder: Path, service: S3Service) -> Iterator[Server]:
    """Runs a server over a bucket of a service, which has the bucket of the example, too; `storage`
    is where its repositories may be.
    """
    own = f"images-{uuid.uuid4().hex[:12]}"
    service.make_bucket(own)
    service.make_bucket(_BUCKET)
    _put_objects(service)
    place = {"ANABRANCH_IMAGES_STORAGE_NAMESPACE": f"s3://{own}/image"}
    with running_server(folder, env={**service.settings, **place}) as server:
        yield server._replace(storage=f"s3://{own}/")


def build_example(server: Server) -> list[Built]:
    """Makes repo1, repo2 and repo4 on such a server; builds the example with each of the three
    kinds of base.
    """
    call = Caller(server)
    _make(call, "repo1", server)
    _commit(call, "repo1", _REPO1, tag="tag1")
    _make(call, "repo2", server)
    commits = {
        "commit123": _commit(call, "repo2", _COMMIT123),
        "commit456": _commit(call, "repo2", _COMMIT456),
    }
    _make(call, "repo4", server)
    _commit(call, "repo4", _REPO4, tag="tag123")
    # so that the tags and commits hold what was asked for, and no branch does
    _commit(call, "repo2", {"path/to/collection/a.csv": b"later"})
    made = []
    for tag, base, contents in (
        ("v122", "FROM lakefs://repo1/tag1", {**_REPO1, **_OVER}),
        ("v123", "FROM scratch", _OVER),
        ("v124", "# nothing beneath", _OVER),
        ("v125", "FROM lakefs://image:v122", {**_REPO1, **_OVER}),
    ):
        text = _TEXT.format(base=base, date=_DATE, **commits)
        reply = call("POST", f"/images/{tag}?wait=60", text.encode(), content_type="text/plain")
        assert reply.status == 201, reply.body
        made.append(Built(tag, text, contents))
    return made


def _make(call: Caller, name: str, server: Server) -> None:
    body = {"name": name, "storage_namespace": f"{server.storage}{name}"}
    reply = call("POST", "/repositories", body)
    assert reply.status == 201, reply.body


def _commit(call: Caller, repository: str, contents: dict[str, bytes], tag: str = "") -> str:
    branch = f"/repositories/{repository}/branches/main"
    for path, content in contents.items():
        reply = call.put(repository, "main", path, content)
        assert reply.status == 201, reply.body
    commit_id: str = call("POST", f"{branch}/commits", {"message": "More"}).json["id"]
    if tag:
        reply = call("POST", f"/repositories/{repository}/tags", {"id": tag, "ref": commit_id})
        assert reply.status == 201, reply.body
    return commit_id


def _put_objects(service: S3Service) -> None:
    blocks = service.blocks()
    try:
        for key, content in _OBJECTS.items():
            blocks.put(f"s3://{_BUCKET}/{key}", [content])
    finally:
        blocks.close()
