"""Builds of large images: tasks write the overlay of the layers.

    image = anabranch.spark.build_image(spark, lake, "v123", Path("Lakefile").read_text())

It differs from the build of one process, `anabranch.pipelines.images`, only in how the overlay is
written. Pins, errors and the digest of the image are the same. The driver lists objects in buckets
that the Lakefile names.
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
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.images.layers import Counts, PreparedLayer
from anabranch.pipelines.images.open_images import OpenImages
from anabranch.pipelines.images.overlay import Written
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs.boundary_tasks import join_in_tasks
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.jobs.overlay_tasks import RESULT, OverlayTasks, TaskLayer, partition_overlay
from anabranch.spark.planning.key_range import KeyRange
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK, Range, Ranges, list_ranges
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import Stores, open_tables
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import FolderTables
from anabranch.versioning.trees.trees import translate_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["build_image"]

_NO_ARGUMENTS: Mapping[str, str] = MappingProxyType({})
_MAX_SHOWN_KEYS = 10


@raise_refusals()
def build_image(
    spark: SparkSession,
    source: Stores,
    tag: str,
    lakefile: str,
    *,
    store: Opener | None = None,
    namespace: str = "",
    arguments: Mapping[str, str] = _NO_ARGUMENTS,
    creator: str = "",
    strict: bool = False,
    allow_empty: bool = False,
    entries_per_task: int = ENTRIES_PER_TASK,
) -> Image:
    """Builds an image from a Lakefile's text and returns it.

    `source` is a lake, or another object with an open core and block store. `store` gives workers
    access to the object store; only a lake in a folder does not need it. `namespace` is the storage
    namespace of the repository of images if that does not exist yet, by default under the store's
    default prefix. The other options and the errors are those of `lake.images.build`. Also raises
    NotSupported if `store` is missing, and for a version of Spark that is too old.
    """
    require_version(spark)
    images = OpenImages(source.core, source.blocks, namespace)
    failed: list[BaseException] = []

    def overlay(layers: Sequence[PreparedLayer], folder: str, progress: Progress) -> Written:
        try:
            writer = _OverlayWriter(spark, source, images, store, entries_per_task)
            return writer.write(layers, folder, progress)
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
        # the build reports an unexpected error without its message: raise Spark's own error
        if failed and not isinstance(failed[0], AnabranchError):
            raise failed[0] from None
        raise


class _OverlayWriter(NamedTuple):
    """Writes the overlay of layers with Spark."""

    spark: SparkSession
    source: Stores
    images: Images
    store: Opener | None
    entries: int

    def write(self, layers: Sequence[PreparedLayer], folder: str, progress: Progress) -> Written:
        """Writes the overlay of layers. Tasks write most tables to the repository of images; the
        tables that the driver writes are in `folder`.
        """
        core, images = self.source.core, self.images.repository.get_or_create()
        tables = open_tables(self.source.blocks, images.storage_namespace, self.store)
        if isinstance(tables, FolderTables):
            core.trees.write_folder(images)  # creates the folder
        task_layers = [self._task_layer(each, images, folder) for each in layers]
        partitions = list(enumerate(partition_overlay(task_layers, self.entries)))
        work = OverlayTasks([layer for layer, _ in task_layers], tables)
        monitor = JobMonitor(self.spark, "image build")
        with monitor.phase("writing the overlay"):
            results = map_in_tasks(self.spark, partitions, work.write, RESULT)
            rows = collect_arrow(results).to_pylist()
        tasks = _ranges_by_task(rows)
        with monitor.phase("joining ranges"), translate_errors():
            ranges = join_in_tasks(self.spark, tables, tasks)
            infos = [kernel.RangeInfo(*each) for each in ranges]
            metarange_id = kernel.write_metarange(infos, folder) if infos else kernel.EMPTY_TREE_ID
        counts = [_layer_counts(rows, number) for number in range(len(layers))]
        progress.advance(sum(each.found for each in counts))
        return Written(metarange_id, sum(each.entries for each in ranges), counts)

    def _task_layer(
        self, prepared: PreparedLayer, images: Repository, folder: str
    ) -> tuple[TaskLayer, Ranges]:
        """Returns a layer for tasks, and its ranges."""
        core, declared, pinned = self.source.core, prepared.pinned.layer, prepared.pinned
        repository, commit, place = pinned.repository, pinned.commit, pinned.place
        if repository is None or commit is None or place is None:
            # the driver listed it into a local folder: upload its tables for the workers
            tree = core.trees.open_in(folder, prepared.digest)
            table_ids = [prepared.digest, *(info.id for info in tree.ranges())]
            new = _Tables(prepared.digest, [each for each in table_ids if each])
            core.trees.adopt(images, folder, new)
            tables = open_tables(self.source.blocks, images.storage_namespace, self.store)
            layer = TaskLayer(tables, b"", b"", False, images.storage_namespace, ())
            return layer, list_ranges(tree)
        prefix = encode_path(place.key)
        namespace = repository.storage_namespace
        layer = TaskLayer(
            open_tables(self.source.blocks, namespace, self.store),
            prefix,
            encode_path(declared.destination),
            not declared.is_prefix,
            namespace,
            declared.exclude,
        )
        tree = core.trees.open(repository, commit.metarange_id)
        return layer, list_ranges(tree, KeyRange(prefix))


class _Tables(NamedTuple):
    metarange_id: str
    tables: list[str]


def _ranges_by_task(rows: Iterable[Any]) -> list[list[Range]]:
    """Returns the ranges that each task wrote, in order of the image's paths."""
    by_task: dict[int, list[Range]] = {}
    for row in rows:
        if row["range"] is not None:
            keys = bytes(row["min_key"]), bytes(row["max_key"])
            written = Range(row["range"], *keys, row["entries"], row["size"])
            by_task.setdefault(row["task"], []).append(written)
    return [sorted(by_task[task], key=lambda each: each.min_key) for task in sorted(by_task)]


def _layer_counts(rows: Iterable[Any], number: int) -> Counts:
    """Returns the totals of a layer over all tasks."""
    of_layer = sorted((row for row in rows if row["layer"] == number), key=lambda row: row["task"])

    def total(name: str) -> int:
        return sum(row[name] for row in of_layer)

    def first(name: str) -> list[bytes]:
        return [bytes(key) for row in of_layer for key in row[name]][:_MAX_SHOWN_KEYS]

    return Counts(
        found=total("found"),
        skipped=total("skipped"),
        shadowed=total("shadowed"),
        shadowed_keys=first("shadowed_keys"),
        invalid=total("invalid"),
        invalid_keys=first("invalid_keys"),
        size=total("bytes"),
        shadowed_size=total("shadowed_bytes"),
    )
