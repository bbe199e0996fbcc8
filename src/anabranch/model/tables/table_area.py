"""Areas: the folders of the files of tables, which belong to no branch.

    <storage namespace>/tables/<area>.json     the path of the record that the area was made for
    <storage namespace>/tables/<area>/…        metadata, manifests and data

Their S3 addresses are `s3://<repository>/.tables/<area>/…`, on every branch, tag and commit.
"""

from __future__ import annotations

import re

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.repositories.repository import Repository

__all__ = ["AREAS", "AREA_ID", "AreaRecord", "area_location", "area_path_from", "areas_folder"]

AREAS = ".tables"
"""What stands in place of a reference in the S3 addresses of areas: no branch begins with a dot."""

AREA_ID = re.compile(r"[0-9a-f]{32}")


class AreaRecord(msgspec.Struct, frozen=True):
    """What is stored beside an area: the path of the record that it was made for."""

    path: str


_decoder = msgspec.json.Decoder(AreaRecord)


def areas_folder(repository: Repository) -> str:
    """Returns the address of the folder of a repository's areas, without a slash at its end."""
    return f"{repository.storage_namespace.rstrip('/')}/tables"


def area_location(repository: str, area: str) -> str:
    """Returns the S3 address of an area, without a slash at its end."""
    return f"s3://{repository}/{AREAS}/{area}"


def area_path_from(content: bytes, area: str) -> str:
    """Returns the path for whose record an area was made. Raises Corrupt."""
    try:
        return _decoder.decode(content).path
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the record of the area {area} is damaged: {error}") from error
