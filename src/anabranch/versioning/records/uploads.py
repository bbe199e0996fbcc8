"""The stored form of multipart uploads: lakeFS's record with Anabranch's additional fields."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from anabranch.errors import Corrupt
from anabranch.model.uploads.upload import Finish, Upload
from anabranch.records import lakefs_pb2 as records

__all__ = ["checksum_bytes", "checksum_from", "finish_bytes", "finish_from"]
__all__ += ["upload_bytes", "upload_from"]


def upload_bytes(upload: Upload) -> bytes:
    """Returns the record of an upload."""
    return _message(upload).SerializeToString(deterministic=True)


def upload_from(raw: bytes) -> Upload:
    """Returns the upload of a record. An upload that lakeFS has begun has no partition."""
    return _upload(_parse(raw))


def finish_bytes(finish: Finish) -> bytes:
    """Returns the record of an upload that has ended."""
    message = _message(finish.upload)
    message.finished_at.seconds = finish.time
    message.e_tag = finish.etag
    message.checksum = finish.checksum
    return message.SerializeToString(deterministic=True)


def finish_from(raw: bytes) -> Finish:
    """Returns how the upload of a record ended."""
    message = _parse(raw)
    return Finish(
        upload=_upload(message),
        time=message.finished_at.seconds,
        etag=message.e_tag,
        checksum=message.checksum,
    )


def checksum_bytes(md5: str, name: str, checksum: str) -> bytes:
    """Returns the record of the checksum that a part with this MD5 was sent with."""
    return f"{md5} {name} {checksum}".encode()


def checksum_from(raw: bytes) -> tuple[str, str, str]:
    """Returns the MD5 of a part, and the algorithm and the text of its checksum."""
    md5, _, rest = raw.decode().partition(" ")
    name, _, checksum = rest.partition(" ")
    return md5, name, checksum


def _message(upload: Upload) -> records.UploadData:
    message = records.UploadData(
        upload_id=upload.id,
        path=upload.path,
        physical_address=upload.address,
        metadata=upload.metadata,
        content_type=upload.content_type,
        partition=upload.partition,
        branch=upload.branch,
        block=upload.block,
        checksum_algorithm=upload.checksum_algorithm,
        checksum_type=upload.checksum_type,
    )
    message.creation_date.seconds = upload.creation_date
    return message


def _parse(raw: bytes) -> records.UploadData:
    message = records.UploadData()
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(
            f"an UploadData record in the key-value store cannot be read: {error}"
        ) from error
    return message


def _upload(message: records.UploadData) -> Upload:
    return Upload(
        id=message.upload_id,
        partition=message.partition,
        branch=message.branch,
        path=message.path,
        address=message.physical_address,
        block=message.block,
        creation_date=message.creation_date.seconds,
        metadata=dict(message.metadata),
        content_type=message.content_type,
        checksum_algorithm=message.checksum_algorithm,
        checksum_type=message.checksum_type,
    )
