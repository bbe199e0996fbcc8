"""Areas: the folders of the files of tables, which belong to no branch.

    <storage namespace>/tables/<area>.json     the path of the record that the area was made for
    <storage namespace>/tables/<area>/…        metadata, manifests and data
    <storage namespace>/tables/uploads/…       multipart uploads that are not complete

Their S3 addresses are `s3://<repository>/.tables/<area>/…`, on every branch, tag and commit.
"""

from __future__ import annotations

import re

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.repositories.repository import Repository

__all__ = [
    "AREAS",
    "AREAS_FOLDER",
    "AREA_ID",
    "AreaRecord",
    "Origin",
    "area_location",
    "area_record_from",
    "areas_folder",
    "is_area_file",
    "is_table_file",
]

AREAS = ".tables"
"""What stands in place of a reference in the S3 addresses of areas: no branch begins with a dot."""

AREAS_FOLDER = "tables/"
"""The folder of areas in a storage namespace."""

AREA_ID = re.compile(r"[0-9a-f]{32}")


_FILE = re.compile(rf"{AREAS_FOLDER}(?:[0-9a-f]{{32}}(?:\.json|/.+)|uploads/.+)", re.DOTALL)


_TABLE_FILE = re.compile(rf"(?:^|/){AREAS_FOLDER}[0-9a-f]{{32}}/", re.DOTALL)


class Origin(msgspec.Struct, frozen=True):
    """The object with the metadata that were registered: its path, and the address of its bytes in
    the store, by which it is known from others that have the path on other branches.
    """

    path: str
    address: str

    @property
    def folder(self) -> str:
        """The folder of the table, with a slash at its end; empty if the object is in none."""
        folder, is_in_one, name = self.path.rpartition("/metadata/")
        return f"{folder}/" if is_in_one and "/" not in name else ""


class AreaRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is stored beside an area: the path of the record that the area was made for, whether
    that was of a table that was registered with files elsewhere, and which object had its metadata
    then; None if none had, and of earlier versions.
    """

    path: str
    registered: bool = False
    origin: Origin | None = None


_decoder = msgspec.json.Decoder(AreaRecord)


def areas_folder(repository: Repository) -> str:
    """Returns the address of the folder of a repository's areas, without a slash at its end."""
    return f"{repository.storage_namespace.rstrip('/')}/{AREAS_FOLDER.rstrip('/')}"


def area_location(repository: str, area: str) -> str:
    """Returns the S3 address of an area, without a slash at its end."""
    return f"s3://{repository}/{AREAS}/{area}"


def is_area_file(relative: str) -> bool:
    """Returns whether an address in a storage namespace is that of a file of a table, the record of
    an area, or an upload.
    """
    return _FILE.fullmatch(relative) is not None


def is_table_file(address: str) -> bool:
    """Returns whether a full or relative address may be that of a file in an area."""
    return _TABLE_FILE.search(address) is not None


def area_record_from(content: bytes, area: str) -> AreaRecord:
    """Returns the record of an area. Raises Corrupt."""
    try:
        return _decoder.decode(content)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the record of the area {area} is damaged: {error}") from error
