"""Three engines import a listing to the same tree: the server, this process, and Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import anabranch.spark
from anabranch.blocks.external_objects import ExternalObject
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.build_tree import build_tree
from anabranch.pipelines.jobs.progress import NO_PROGRESS

ADDRESS = "local://bucket/"
COLUMNS = ("path", "physical_address", "size", "checksum", "last_modified")
PATHS = st.text(st.sampled_from("ab/é\U0001f30a\x01"), min_size=1, max_size=8)


class ListedStore:
    """A store whose listing has the rows of a Parquet file, by path."""

    def __init__(self, file):
        self.file = file

    def list(self, prefix):
        table = pq.read_table(self.file).sort_by("path")
        for batch in table.to_batches(max_chunksize=65_536):
            columns = batch.set_column(
                batch.schema.get_field_index("last_modified"),
                "last_modified",
                batch.column("last_modified").cast(pa.timestamp("us", "UTC")).cast("int64"),
            ).to_pydict()
            for path, address, size, checksum, time in zip(
                *(columns[name] for name in COLUMNS), strict=True
            ):
                assert address.startswith(prefix)
                yield ExternalObject(path.encode(), address, size, time * 1000, checksum)


def server_tree(lake, file):
    """Returns the tree of the server's import of the same objects."""
    source = ImportSource(type="common_prefix", path=ADDRESS, destination="")
    with lake.core.trees.scratch() as folder:
        return build_tree(
            [source], ListedStore(file), lake.core.trees, folder, NO_PROGRESS
        ).metarange_id


def trees(spark, lake, folder):
    """Yields the trees of the server, of this process, and of Spark."""
    (file,) = folder.glob("*.parquet")
    yield server_tree(lake, file)
    for name in ("local", "spark"):
        if lake.core.branches.find(lake.core.repositories.get("sea"), name) is not None:
            lake.branches.delete("sea", name)
        lake.branches.create("sea", name, "main")
    yield lake.import_listing("sea", "local", folder, verify="none").commit.metarange_id
    rows = spark.read.parquet(str(folder))
    imported = anabranch.spark.import_listing(lake, "sea", "spark", rows, verify="none")
    yield imported.commit.metarange_id


@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(sizes=st.dictionaries(PATHS, st.integers(0, 1 << 40), min_size=1, max_size=40))
def test_trees_of_random_listings_are_equal(spark, lake, tmp_path_factory, sizes):
    folder = tmp_path_factory.mktemp("listing")
    when = datetime(2024, 1, 2, 3, 4, 5, 678_901, UTC)
    rows = [
        (path, f"{ADDRESS}{path.encode().hex()[:200]}", size, f"etag-{size}", when)
        for path, size in sizes.items()
    ]
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    assert len(set(trees(spark, lake, folder))) == 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("objects", [300_000, 5_000_000])
def test_trees_of_large_listings_are_equal(spark, lake, tmp_path, objects):
    folder = tmp_path / "rows"
    spark.range(objects).selectExpr(
        "concat('p', lpad(pmod(id * 7919, 1000), 4, '0'), '/f', lpad(id, 9, '0')) AS path",
        f"concat('{ADDRESS}p', lpad(pmod(id * 7919, 1000), 4, '0'), '/f', lpad(id, 9, '0')) "
        "AS physical_address",
        "id AS size",
        "md5(string(id + 1)) AS checksum",
        "timestamp_seconds(1700000000 + id) AS last_modified",
    ).coalesce(1).write.parquet(str(folder))
    assert len(set(trees(spark, lake, folder))) == 1
