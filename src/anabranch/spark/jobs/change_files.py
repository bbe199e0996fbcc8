"""Files of changes: what tasks have found in tables, for later tasks of the same export.

In a folder, files are removed before others are copied, because one can be in the way of another.
The tasks that remove files write the changes that they find to files in a folder beside them, and
the tasks that copy read these, so that each table is read once. The folder is removed when the
export ends, also by an error.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from anabranch.blocks.local.errors import translate_error
from anabranch.errors import Gone
from anabranch.pipelines.exports.changes import Change
from anabranch.pipelines.exports.folder import TEMPORARY

__all__ = ["CHANGES_FOLDER", "ChangeFile", "ChangeFiles"]

CHANGES_FOLDER = f"{TEMPORARY}changes"
"""The name of the folder in a destination."""

_SCHEMA = pa.schema([(name, pa.binary()) for name in ("key", "identity", "data")])


class ChangeFiles(NamedTuple):
    """Files in a folder that every worker sees at the same path; it can be pickled."""

    folder: str

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Creates the folder, without files that an earlier process has left, and removes it when
        the context ends.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            Path(self.folder).mkdir()
        except OSError as error:
            raise translate_error(error, self.folder) from error
        try:
            yield
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def writer(self) -> Iterator[ChangeFile]:
        """Gives a new file. Raises Busy if it cannot be written."""
        path = f"{self.folder}/{TEMPORARY}{uuid.uuid4().hex}"
        try:
            with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, _SCHEMA) as stream:
                yield ChangeFile(path, stream)
        except OSError as error:
            raise translate_error(error, path) from error

    def read(self, name: str) -> Iterator[Change]:
        """Yields the changes of a file. Raises Gone if it is missing."""
        path = f"{self.folder}/{name}"
        try:
            with pa.OSFile(path, "rb") as file, pa.ipc.open_stream(file) as stream:
                for batch in stream:
                    yield from _changes(batch)
        except FileNotFoundError as error:
            raise Gone(
                f"{path}: the file of changes is missing",
                hint="Another export to this folder has removed it. Run the export again.",
            ) from error


class ChangeFile:
    """A file that is being written; `name` is empty while it has no changes."""

    def __init__(self, path: str, stream: pa.RecordBatchWriter) -> None:
        self._path = path
        self._stream = stream
        self.name = ""

    def write(self, batch: Sequence[Change]) -> None:
        """Adds changes."""
        keys = [key for key, _ in batch]
        identities = [None if value is None else value[0] for _, value in batch]
        data = [None if value is None else value[1] for _, value in batch]
        columns = [pa.array(column, pa.binary()) for column in (keys, identities, data)]
        self._stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
        self.name = Path(self._path).name


def _changes(batch: pa.RecordBatch) -> Iterator[Change]:
    keys, identities, data = (column.to_pylist() for column in batch.columns)
    for key, identity, value in zip(keys, identities, data, strict=True):
        yield key, None if identity is None else (identity, value)
