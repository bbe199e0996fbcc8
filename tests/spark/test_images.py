"""Images built by tasks equal those of one process; Spark reads images."""

from __future__ import annotations

import pytest
from support.image_example import build_example, running_example

import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.objects.entry import Entry
from anabranch.testing.tree_strategies import CUTS

pytestmark = pytest.mark.timeout(600)

# the paths in CUTS end ranges, so that trees have many ranges
PATHS = sorted({*(key.decode() for key in CUTS), *(f"{a}/{n}" for a in "abc" for n in range(9))})


@pytest.fixture
def lake(tmp_path):
    """A lake with objects in `sea` and `sky`, in many ranges, and a folder from which it may
    import.
    """
    import_folder = tmp_path / "outside"
    for name in ("one", "deep/two", "deep/ü"):
        (import_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (import_folder / name).write_bytes(name.encode())
    blocks = LocalBlocks(
        tmp_path / "blocks", import_enabled=True, external_prefixes=[str(import_folder)]
    )
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        for repository, paths in (("sea", PATHS), ("sky", PATHS[::3])):
            lake.repositories.create(repository, f"local://{repository}")
            opened = lake.repositories.get(repository)
            for number, path in enumerate(paths):
                entry = Entry(
                    address=f"data/{number}", address_type=1, size=number, mtime=9, checksum="c"
                )
                lake.core.changes.put(opened, "main", path, entry)
            lake.commits.commit(repository, "main", message="m", committer="c")
            lake.tags.create(repository, "v1", "main")
        yield lake


def texts(import_folder):
    """Yields Lakefiles. Later ones use the images of earlier ones."""
    yield "ADD lakefs://sea/v1 moved/\nADD lakefs://sky/main /\nLABEL a=b"
    yield (
        "FROM lakefs://image:t-0\nADD --exclude=*3 --exclude=b/* lakefs://sea/v1 /\n"
        f"ADD local://{import_folder}/ a/\nADD local://{import_folder}/one c/5\n"
        "ADD lakefs://sky/v1/b/ c/\nADD lakefs://sea/v1/a/1 b/x"
    )
    yield "FROM lakefs://sea/v1"
    yield "FROM lakefs://image:t-1\nADD lakefs://sky/v1 a/deep/"
    yield "ADD lakefs://sky/v1/a/0 alone\nADD lakefs://image:t-1/moved/ m/"


def check_images(spark, lake, lakefiles, *, entries):
    """Builds images by tasks and in this process, and compares them."""
    for number, text in enumerate(lakefiles):
        local = lake.images.build(f"t-{number}", text, creator="me")
        built_by_tasks = anabranch.spark.build_image(
            spark, lake, f"s-{number}", text, creator="me", entries_per_task=entries
        )
        assert built_by_tasks.plan == local.plan
        assert (built_by_tasks.creator, lake.images.get(f"s-{number}")) == ("me", built_by_tasks)


def test_images_equal_those_of_one_process(spark, lake, tmp_path):
    check_images(spark, lake, [*texts(tmp_path / "outside")][:2], entries=30)


@pytest.mark.slow
@pytest.mark.parametrize("entries", [1, 7, 1_000])
def test_images_do_not_depend_on_the_size_of_tasks(spark, lake, tmp_path, entries):
    check_images(spark, lake, texts(tmp_path / "outside"), entries=entries)
    objects = anabranch.spark.objects(spark, lake, "image", "s-1")
    assert objects.count() == lake.images.get("t-1").plan.objects


@pytest.mark.slow  # tests/pipelines/images
def test_invalid_builds_raise_errors(spark, lake):
    def build(text, **options):
        return anabranch.spark.build_image(spark, lake, "v", text, **options)

    with pytest.raises(NotFound, match=r"Lakefile:1: .*nothing to add"):
        build("ADD lakefs://sea/v1/none/ x")
    with pytest.raises(Invalid, match="may point to another commit"):
        build("FROM lakefs://sea/main", strict=True)
    with pytest.raises(Invalid, match=r"would have an empty path in the image"):
        build(f"ADD lakefs://sea/v1 {'x' * 1023}/", entries_per_task=9)
    with pytest.raises(NotFound, match="nothing to add"):
        build("ADD --exclude=* lakefs://sea/v1 x")
    empty = build("ADD lakefs://sea/v1/none/ x", allow_empty=True)
    assert empty.plan.objects == 0
    with pytest.raises(AlreadyExists):
        build("FROM lakefs://sea/v1")


def test_error_of_a_task_is_raised_and_no_image_is_created(spark, lake, tmp_path):
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
    """A server with the images of the example in docs/lakefile.md, and the images."""
    with running_example(tmp_path_factory.mktemp("images"), s3_service) as server:
        yield server, build_example(server)


def test_format_reads_images(spark, example):
    server, built = example
    anabranch.spark.register(spark, anabranch.spark.Server(server.url, *server.auth))
    image = built[-1]
    objects = spark.read.format("anabranch").load(repository="image", reference=image.tag)
    by_path = {row.path: row for row in objects.collect()}
    sizes = {path: len(content) for path, content in image.contents.items()}
    assert {path: row["size"] for path, row in by_path.items()} == sizes
    address = by_path["external/some-path/deep/er/two.json"].physical_address
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
        contents = {row.path.partition(f"/{image.tag}/")[2]: bytes(row.content) for row in rows}
        # Spark leaves out empty files
        assert contents == {path: content for path, content in image.contents.items() if content}
