"""Images by tasks, which are those of one process; and images as Spark reads them."""

from __future__ import annotations

import pytest
from support.image_example import build_example, running_example

import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.entry import Entry
from anabranch.testing.tree_strategies import CUTS

pytestmark = pytest.mark.timeout(600)

# those of CUTS end ranges, so that trees have many
PATHS = sorted({*(key.decode() for key in CUTS), *(f"{a}/{n}" for a in "abc" for n in range(9))})


@pytest.fixture
def lake(tmp_path):
    """A lake with objects in `sea` and `sky`, many ranges of them, and a folder beside it."""
    outside = tmp_path / "outside"
    for name in ("one", "deep/two", "deep/ü"):
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_bytes(name.encode())
    blocks = LocalBlocks(tmp_path / "blocks", import_enabled=True, external_prefixes=[str(outside)])
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        for repository, paths in (("sea", PATHS), ("sky", PATHS[::3])):
            lake.repositories.create(repository, f"local://{repository}")
            found = lake.repositories.get(repository)
            for number, path in enumerate(paths):
                entry = Entry(
                    address=f"data/{number}", address_type=1, size=number, mtime=9, checksum="c"
                )
                lake.core.changes.put(found, "main", path, entry)
            lake.commits.commit(repository, "main", message="m", committer="c")
            lake.tags.create(repository, "v1", "main")
        yield lake


def texts(outside):
    """Yields Lakefiles; later ones build on the images of earlier ones."""
    yield "ADD lakefs://sea/v1 moved/\nADD lakefs://sky/main /\nLABEL a=b"
    yield (
        "FROM lakefs://image:t-0\nADD --exclude=*3 --exclude=b/* lakefs://sea/v1 /\n"
        f"ADD local://{outside}/ a/\nADD local://{outside}/one c/5\n"
        "ADD lakefs://sky/v1/b/ c/\nADD lakefs://sea/v1/a/1 b/x"
    )
    yield "FROM lakefs://sea/v1"
    yield "FROM lakefs://image:t-1\nADD lakefs://sky/v1 a/deep/"
    yield "ADD lakefs://sky/v1/a/0 alone\nADD lakefs://image:t-1/moved/ m/"


def check_images(spark, lake, lakefiles, *, entries):
    """Builds images by tasks and in this process, and holds one against the other."""
    for number, text in enumerate(lakefiles):
        here = lake.images.build(f"t-{number}", text, creator="me")
        made = anabranch.spark.build_image(
            spark, lake, f"s-{number}", text, creator="me", entries_per_task=entries
        )
        assert made.plan == here.plan
        assert (made.creator, lake.images.get(f"s-{number}")) == ("me", made)


def test_they_are_those_of_one_process(spark, lake, tmp_path):
    check_images(spark, lake, [*texts(tmp_path / "outside")][:2], entries=30)


@pytest.mark.slow
@pytest.mark.parametrize("entries", [1, 7, 1_000])
def test_they_are_whatever_a_task_takes(spark, lake, tmp_path, entries):
    check_images(spark, lake, texts(tmp_path / "outside"), entries=entries)
    objects = anabranch.spark.objects(spark, lake, "image", "s-1")
    assert objects.count() == lake.images.get("t-1").plan.objects


def test_what_is_refused(spark, lake):
    def build(text, **options):
        return anabranch.spark.build_image(spark, lake, "v", text, **options)

    with pytest.raises(NotFound, match=r"Lakefile:1: .*nothing to add"):
        build("ADD lakefs://sea/v1/none/ x")
    with pytest.raises(Invalid, match="may point to another commit"):
        build("FROM lakefs://sea/main", strict=True)
    with pytest.raises(Invalid, match=r"would have no path in the image"):
        build(f"ADD lakefs://sea/v1 {'x' * 1023}/", entries_per_task=9)
    with pytest.raises(NotFound, match="nothing to add"):
        build("ADD --exclude=* lakefs://sea/v1 x")
    empty = build("ADD lakefs://sea/v1/none/ x", allow_empty=True)
    assert empty.plan.objects == 0
    with pytest.raises(AlreadyExists):
        build("FROM lakefs://sea/v1")


def test_what_fails_in_a_task_is_told(spark, lake, tmp_path):
    tables = tmp_path / "blocks" / "sea" / "_lakefs"
    commit = lake.commits.get("sea", "v1")
    for table in tables.iterdir():
        if table.name != commit.metarange_id:
            table.unlink()
    with pytest.raises(Exception, match="missing"):
        anabranch.spark.build_image(spark, lake, "v", "FROM lakefs://sea/v1")
    assert lake.images.find("v") is None


@pytest.fixture(scope="module")
def example(s3_service, tmp_path_factory):
    """A server with the images of the example in docs/lakefile.md, and these."""
    with running_example(tmp_path_factory.mktemp("images"), s3_service) as server:
        yield server, build_example(server)


def test_the_format_reads_images(spark, example):
    server, built = example
    anabranch.spark.register(spark, anabranch.spark.Server(server.url, *server.auth))
    image = built[-1]
    objects = spark.read.format("anabranch").load(repository="image", reference=image.tag)
    found = {row.path: row for row in objects.collect()}
    sizes = {path: len(content) for path, content in image.contents.items()}
    assert {path: row["size"] for path, row in found.items()} == sizes
    address = found["external/some-path/deep/er/two.json"].physical_address
    assert address == "s3://my-bucket/some-path/deep/er/two.json"


@pytest.mark.slow
def test_s3a_reads_images(spark, example):
    server, built = example
    settings = spark._jsc.hadoopConfiguration()
    for name, value in (
        ("endpoint", server.url),
        ("access.key", server.access_key_id),
        ("secret.key", server.secret_access_key),
    ):
        settings.set(f"fs.s3a.bucket.image.{name}", value)
    for image in built:
        rows = (
            spark.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .load(f"s3a://image/{image.tag}/")
            .select("path", "content")
            .collect()
        )
        found = {row.path.partition(f"/{image.tag}/")[2]: bytes(row.content) for row in rows}
        # Spark leaves out files without bytes
        assert found == {path: content for path, content in image.contents.items() if content}
