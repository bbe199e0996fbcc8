"""The check of multipart uploads: their records, their index, and their parts in the store."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Corrupt, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.tables.table_area import is_area_file
from anabranch.model.uploads.upload import Finish, Upload
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding, Mend
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.records.unreadable_records import printed_key
from anabranch.versioning.objects.uploads import upload_key_prefix
from anabranch.versioning.records import keys
from anabranch.versioning.records.uploads import finish_bytes, upload_from
from anabranch.versioning.staging.cleanup import discard

__all__ = ["CHECK", "check_lost_uploads", "check_uploads"]

CHECK = "uploads"
_PARTS = "multiparts-parts:"


def check_uploads(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields uploads that no listing shows, listed ones that do not exist, and parts of neither."""
    progress.begin("checking uploads", 0)
    store = inspected.store
    live = {repository.partition: repository for repository in inspected.repositories}
    expected: dict[tuple[str, bytes], str] = {}
    for _, upload in _uploads(inspected):
        # files of tables are on no branch, and their uploads in no listing
        if upload.partition in live and not is_area_file(upload.address):
            position = keys.upload(upload_key_prefix(upload.key, upload.id))
            expected[upload.partition, position] = upload.id
        progress.advance(1)
    for partition, repository in live.items():
        for key, raw in store.scan(partition, *keys.all_uploads()):
            if expected.pop((partition, key), None) is not None:
                continue
            upload_id = key.rpartition(b"\0")[2]
            if store.get(keys.UPLOADS, upload_id) is None:
                yield Finding(
                    *(CHECK, "upload_missing", f"{repository.id} {printed_key(key)}"),
                    "this upload is listed and does not exist",
                    Mend(
                        "remove the row of the listing",
                        [Write(partition, key, None)],
                        [Expect(partition, key, raw), Expect(keys.UPLOADS, upload_id, None)],
                    ),
                )
    for (partition, key), unlisted in expected.items():
        record = store.get(keys.UPLOADS, unlisted.encode())
        yield Finding(
            *(CHECK, "upload_unlisted", f"{live[partition].id} {unlisted}"),
            "this upload exists and is not listed",
            Mend(
                "add the row of the listing",
                [Write(partition, key, b"")],
                [Expect(keys.UPLOADS, unlisted.encode(), record)],
            ),
        )
    for partition, rows in inspected.rows.items():
        upload_id = partition.removeprefix(_PARTS).encode("utf-8", "surrogateescape")
        if partition.startswith(_PARTS) and not (
            store.get(keys.UPLOADS, upload_id) or store.get(keys.FINISHED_UPLOADS, upload_id)
        ):
            yield Finding(
                *(CHECK, "parts_orphaned", partition),
                f"the upload of these checksums of {rows} parts does not exist",
                Mend(
                    "put them on the list of what servers remove",
                    discard([partition], inspected.now),
                    [Expect(keys.UPLOADS, upload_id, None)],
                ),
            )


def check_lost_uploads(
    inspected: Inspected, blocks: BlockStore, keyvalue: KeyValueStore, progress: Progress
) -> Iterator[Finding]:
    """Yields uploads that the block store does not know, although they have not ended. `keyvalue`
    is asked whether they have ended meanwhile.
    """
    progress.begin("looking for the parts of uploads", 0)
    for raw, upload in list(_uploads(inspected)):
        progress.advance(1)
        if not upload.partition:
            continue  # lakeFS's
        try:
            blocks.parts(upload.block, upload.id)
        except NotFound:
            if blocks.stat(upload.block) is not None:
                continue  # the store has completed it, the record comes next, or by a retry
            if keyvalue.get(keys.UPLOADS, upload.id.encode()) == raw:
                yield _lost(upload, raw, inspected.now)
        except AnabranchError as error:
            yield Finding(
                CHECK, "upload_unreadable", upload.id, f"its parts cannot be read: {error.message}"
            )


def _lost(upload: Upload, raw: bytes, now: float) -> Finding:
    key = upload.id.encode()
    finish = finish_bytes(Finish(upload=upload, time=int(now)))
    position = keys.upload(upload_key_prefix(upload.key, upload.id))
    return Finding(
        *(CHECK, "upload_lost", upload.id),
        f"the store does not have the parts of this upload to {upload.path}, begun at "
        f"{upload.creation_date}: it cannot be completed",
        Mend(
            "end the upload",
            [
                Write(keys.UPLOADS, key, None),
                Write(upload.partition, position, None),
                Write(keys.FINISHED_UPLOADS, key, finish),
            ],
            [Expect(keys.UPLOADS, key, raw)],
        ),
    )


def _uploads(inspected: Inspected) -> Iterator[tuple[bytes, Upload]]:
    for _, raw in inspected.store.scan(keys.UPLOADS):
        try:
            yield raw, upload_from(raw)
        except Corrupt:
            continue
