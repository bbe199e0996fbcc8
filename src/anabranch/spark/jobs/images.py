"""Images of many objects: tasks lay their layers over each other.

    image = anabranch.spark.build_image(spark, lake, "v123", Path("Lakefile").read_text())

It is the build of one process, `anabranch.pipelines.images`, with another way to lay layers: what
is pinned, refused and written of an image are the same, and so is its digest. What is in buckets
is listed by the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from anabranch import _kernel as kernel
from anabranch.catalog.images.images import Images
from anabranch.errors import AnabranchError
from anabranch.model.image import Image
from anabranch.model.names import encode_path
from anabranch.model.repository import Repository
from anabranch.pipelines.images.layers import Counts, PreparedLayer
from anabranch.pipelines.images.open_images import OpenImages
from anabranch.pipelines.images.overlay import Written
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.jobs.overlay_tasks import TOLD, SharedLayer, Work, shares
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK, Range, Ranges, list_ranges
from anabranch.spark.planning.range_boundaries import join_ranges
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import Stores, open_tables
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import FolderTables
from anabranch.versioning.trees import translate_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["build_image"]

_NONE: Mapping[str, str] = MappingProxyType({})
_SHOWN = 10


def build_image(
    spark: SparkSession,
    source: Stores,
    tag: str,
    lakefile: str,
    *,
    store: Opener | None = None,
    namespace: str = "",
    arguments: Mapping[str, str] = _NONE,
    creator: str = "",
    strict: bool = False,
    allow_empty: bool = False,
    entries_per_task: int = ENTRIES_PER_TASK,
) -> Image:
    """Builds an image from a Lakefile's text and returns it.

    `source` is a lake, or whatever has its core and its blocks open in the driver; `store` is how
    workers reach the object store, which only a lake in a folder does without. `namespace` is
    where the tables of images go, if there are none yet, by default below the store's default
    prefix. All else, and what is raised, is as `lake.images.build` has it; NotSupported without a
    store that is needed.
    """
    require_version(spark)
    images = OpenImages(source.core, source.blocks, namespace)
    failed: list[BaseException] = []

    def overlay(layers: Sequence[PreparedLayer], folder: str, progress: Progress) -> Written:
        try:
            writer = _LayerWriter(spark, source, images, store, entries_per_task)
            return writer.lay(layers, folder, progress)
        except Exception as error:
            failed.append(error)
            raise

    try:
        return images.build(
            *(tag, lakefile),
            arguments=arguments,
            creator=creator,
            strict=strict,
            allow_empty=allow_empty,
            overlay=overlay,
        )
    except AnabranchError:
        # the job's state does not contain Spark's own message
        if failed and not isinstance(failed[0], AnabranchError):
            raise failed[0] from None
        raise


class _LayerWriter(NamedTuple):
    """Writer of overlays on Spark."""

    spark: SparkSession
    source: Stores
    images: Images
    store: Opener | None
    entries: int

    def lay(self, laid: Sequence[PreparedLayer], folder: str, progress: Progress) -> Written:
        """Lays layers over each other; what is new and not in the repository of images yet goes
        into a folder.
        """
        core, images = self.source.core, self.images.repository.get_or_create()
        tables = open_tables(self.source.blocks, images.storage_namespace, self.store)
        if isinstance(tables, FolderTables):
            core.trees.write_folder(images)  # which makes it
        both = [self._shared(each, images, folder) for each in laid]
        planned = list(enumerate(shares(both, self.entries)))
        work = Work([layer for layer, _ in both], tables)
        rows = map_in_tasks(self.spark, planned, work.lay, TOLD).toArrow().to_pylist()
        tasks = _by_share(rows)
        with tables.locator() as locate, translate_errors():
            ranges = join_ranges(tasks, folder, locate)
            infos = [kernel.RangeInfo(*found) for found in ranges]
            metarange_id = kernel.write_metarange(infos, folder) if infos else kernel.EMPTY_TREE_ID
        counts = [_count_rows(rows, number) for number in range(len(laid))]
        progress.advance(sum(each.found for each in counts))
        return Written(metarange_id, sum(found.entries for found in ranges), counts)

    def _shared(
        self, laid: PreparedLayer, images: Repository, folder: str
    ) -> tuple[SharedLayer, Ranges]:
        """Returns a layer as tasks need it, and its ranges."""
        core, declared, pinned = self.source.core, laid.pinned.layer, laid.pinned
        repository, commit, place = pinned.repository, pinned.commit, pinned.place
        if repository is None or commit is None or place is None:
            # it was listed into the folder here, which workers do not see
            tree = core.trees.open_in(folder, laid.digest)
            names = [laid.digest, *(found.id for found in tree.ranges())]
            core.trees.adopt(images, folder, _Tables(laid.digest, [name for name in names if name]))
            tables = open_tables(self.source.blocks, images.storage_namespace, self.store)
            layer = SharedLayer(tables, b"", b"", False, images.storage_namespace, ())
            return layer, list_ranges(tree)
        prefix = encode_path(place.key)
        namespace = repository.storage_namespace
        layer = SharedLayer(
            open_tables(self.source.blocks, namespace, self.store),
            prefix,
            encode_path(declared.destination),
            not declared.is_prefix,
            namespace,
            declared.exclude,
        )
        tree = core.trees.open(repository, commit.metarange_id)
        return layer, list_ranges(tree, prefix)


class _Tables(NamedTuple):
    metarange_id: str
    tables: list[str]


def _by_share(rows: Iterable[Any]) -> list[list[Range]]:
    """Returns the ranges that tasks wrote, in order of the shares."""
    found: dict[int, list[Range]] = {}
    for row in rows:
        if row["range"] is not None:
            keys = bytes(row["min_key"]), bytes(row["max_key"])
            made = Range(row["range"], *keys, row["entries"], row["size"])
            found.setdefault(row["share"], []).append(made)
    return [sorted(found[share], key=lambda each: each.min_key) for share in sorted(found)]


def _count_rows(rows: Iterable[Any], number: int) -> Counts:
    """Returns the totals of a layer over all tasks."""
    met = sorted((row for row in rows if row["layer"] == number), key=lambda row: row["share"])

    def total(name: str) -> int:
        return sum(row[name] for row in met)

    def first(name: str) -> list[bytes]:
        return [bytes(key) for row in met for key in row[name]][:_SHOWN]

    return Counts(
        found=total("found"),
        left_out=total("left_out"),
        shadowed=total("shadowed"),
        shadowed_keys=first("shadowed_keys"),
        unfit=total("unfit"),
        unfit_keys=first("unfit_keys"),
        size=total("bytes"),
        shadowed_size=total("shadowed_bytes"),
    )
