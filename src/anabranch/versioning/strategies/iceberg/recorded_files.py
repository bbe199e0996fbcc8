"""The metadata files of a table of the Iceberg catalog, whose current one its record names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from anabranch.model.tables.table_area import area_location
from anabranch.model.tables.table_record import TableRecord
from anabranch.tables.iceberg.metadata_files import METADATA_FOLDER, MetadataFiles
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import read_metadata
from anabranch.versioning.strategies.contract import PathConflict
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["RecordedFiles", "metadata_folder"]


def metadata_folder(repository: str, record: TableRecord) -> str:
    """Returns the address of the folder of a table's metadata files, with a slash at its end."""
    return f"{area_location(repository, record.area)}/{METADATA_FOLDER}"


class RecordedFiles(MetadataFiles):
    """The metadata files of the table of a record, on the side of a merge that `owner` names.
    Raises Conflict for a table whose metadata are not where the catalog stores them.
    """

    def __init__(self, conflict: PathConflict, record: TableRecord, owner: str) -> None:
        folder = metadata_folder(conflict.repository, record)
        self._name = record.metadata.removeprefix(folder)
        if not record.metadata.startswith(folder) or "/" in self._name:
            raise refusal(
                f"the {owner} has metadata at {record.metadata}, which are not in {folder}"
            )
        self._area = AreaObjects(conflict, record.area)
        self._location = f"{area_location(conflict.repository, record.area)}/"
        super().__init__(self._area, TablePlace(conflict.repository, ""), owner)

    @property
    def exists(self) -> bool:
        """Whether there is a table."""
        return True

    @property
    def hint(self) -> str:
        """The content of the version hint: there is none."""
        return ""

    def current(self) -> str:
        """Returns the name of the current metadata file."""
        return self._name

    def read_address(self, address: str) -> bytes:
        """Returns the bytes of a metadata file, given by its address. Raises Invalid for one that
        does not exist, or is not in the table's area.
        """
        scheme, _, rest = address.partition("://")
        location = f"s3://{rest}" if scheme in {"s3", "s3a", "s3n"} else address
        if not location.startswith(self._location):
            raise unreadable(f"the {self.owner} refers to {address}, outside of {self._location}")
        try:
            return read_metadata(self._area, location.removeprefix(self._location))
        except FileNotFoundError as error:
            raise unreadable(
                f"the {self.owner} refers to {address}, which does not exist"
            ) from error


class AreaObjects:
    """The files of an area, by their paths in it, as readers of metadata see objects."""

    def __init__(self, conflict: PathConflict, area: str) -> None:
        self._conflict = conflict
        self._area = area

    def list(self, prefix: str) -> Iterator[str]:  # noqa: ARG002  whatever it is
        """Yields nothing: a record names the metadata, and these name all other files."""
        yield from ()

    def open(self, path: str) -> BinaryIO:
        """Returns a stream of a file. Raises FileNotFoundError without one."""
        found = self._conflict.read_table_file(self._area, path)
        if found is None:
            raise FileNotFoundError(path)
        return found.open()

    def location(self, path: str) -> str:
        """Raises FileNotFoundError: data files are not read."""
        raise FileNotFoundError(path)
