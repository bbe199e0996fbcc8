"""Images of many objects: tasks lay their layers over each other.

    image = anabranch.spark.build_image(spark, lake, "v123", Path("Lakefile").read_text())

It is the build of one process, `anabranch.pipelines.images`, with another way to lay layers: what
is pinned, refused and written of an image are the same, and so is its digest. What lies in buckets
is listed by the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from anabranch import _kernel as kernel
from anabranch.catalog.images import Images
from anabranch.errors import AnabranchError
from anabranch.model.image import Image
from anabranch.model.names import key_of
from anabranch.model.repository import Repository
from anabranch.pipelines.images.layers import Counts, Laid
from anabranch.pipelines.images.laying import Written
from anabranch.pipelines.images.open_images import OpenImages
from anabranch.pipelines.imports.tally import Tally
from anabranch.spark.borders import joined
from anabranch.spark.layers import TOLD, SharedLayer, Work, shares
from anabranch.spark.pieces import ENTRIES, Cut, Range, ranges_of
from anabranch.spark.recent import require_recent
from anabranch.spark.sources import Stores, tables_of
from anabranch.spark.stores import Opener
from anabranch.spark.table_files import FolderTables
from anabranch.spark.tasks import in_tasks
from anabranch.versioning.trees import translated

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
    entries_per_task: int = ENTRIES,
) -> Image:
    """Builds an image from a Lakefile's text and returns it.

    `source` is a lake, or whatever has its core and its blocks open in the driver; `store` is how
    workers reach the object store, which only a lake in a folder does without. `namespace` is
    where the tables of images go, if there are none yet, by default below the store's default
    prefix. All else, and what is raised, is as `lake.images.build` has it; NotSupported without a
    store that is needed.
    """
    require_recent(spark)
    images = OpenImages(source.core, source.blocks, namespace)
    failed: list[BaseException] = []

    def lay(laid: Sequence[Laid], folder: str, tally: Tally) -> Written:
        try:
            laying = _Laying(spark, source, images, store, entries_per_task)
            return laying.lay(laid, folder, tally)
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
            lay=lay,
        )
    except AnabranchError:
        # what Spark itself says is lost in the state of a job
        if failed and not isinstance(failed[0], AnabranchError):
            raise failed[0] from None
        raise


class _Laying(NamedTuple):
    """Where layers are laid."""

    spark: SparkSession
    source: Stores
    images: Images
    store: Opener | None
    entries: int

    def lay(self, laid: Sequence[Laid], folder: str, tally: Tally) -> Written:
        """Lays layers over each other; what is new and not in the repository of images yet goes
        into a folder.
        """
        core, images = self.source.core, self.images.repository.found_or_made()
        tables = tables_of(self.source.blocks, images.storage_namespace, self.store)
        if isinstance(tables, FolderTables):
            core.trees.write_folder(images)  # which makes it
        both = [self._shared(each, images, folder) for each in laid]
        planned = list(enumerate(shares(both, self.entries)))
        work = Work([layer for layer, _ in both], tables)
        rows = in_tasks(self.spark, planned, work.lay, TOLD).toArrow().to_pylist()
        tasks = _by_share(rows)
        with tables.located() as locate, translated():
            ranges = joined(tasks, folder, locate)
            infos = [kernel.RangeInfo(*found) for found in ranges]
            metarange_id = kernel.write_metarange(infos, folder) if infos else kernel.EMPTY_TREE_ID
        counts = [_counted(rows, number) for number in range(len(laid))]
        tally.add(sum(each.found for each in counts))
        return Written(metarange_id, sum(found.entries for found in ranges), counts)

    def _shared(self, laid: Laid, images: Repository, folder: str) -> tuple[SharedLayer, Cut]:
        """Returns a layer as tasks know it, and its ranges."""
        core, declared, pinned = self.source.core, laid.pinned.layer, laid.pinned
        repository, commit, place = pinned.repository, pinned.commit, pinned.place
        if repository is None or commit is None or place is None:
            # it was listed into the folder here, which workers do not see
            tree = core.trees.open_in(folder, laid.digest)
            names = [laid.digest, *(found.id for found in tree.ranges())]
            core.trees.adopt(images, folder, _Tables(laid.digest, [name for name in names if name]))
            tables = tables_of(self.source.blocks, images.storage_namespace, self.store)
            layer = SharedLayer(tables, b"", b"", False, images.storage_namespace, ())
            return layer, ranges_of(tree)
        prefix = key_of(place.key)
        namespace = repository.storage_namespace
        layer = SharedLayer(
            tables_of(self.source.blocks, namespace, self.store),
            prefix,
            key_of(declared.destination),
            not declared.is_prefix,
            namespace,
            declared.exclude,
        )
        tree = core.trees.open(repository, commit.metarange_id)
        return layer, ranges_of(tree, prefix)


class _Tables(NamedTuple):
    metarange_id: str
    tables: list[str]


def _by_share(rows: Iterable[Any]) -> list[list[Range]]:
    """Returns the ranges that tasks wrote, share by share, in order."""
    found: dict[int, list[Range]] = {}
    for row in rows:
        if row["range"] is not None:
            keys = bytes(row["min_key"]), bytes(row["max_key"])
            made = Range(row["range"], *keys, row["entries"], row["size"])
            found.setdefault(row["share"], []).append(made)
    return [sorted(found[share], key=lambda each: each.min_key) for share in sorted(found)]


def _counted(rows: Iterable[Any], number: int) -> Counts:
    """Returns what all tasks together have met in a layer."""
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
