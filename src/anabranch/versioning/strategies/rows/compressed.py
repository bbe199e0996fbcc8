"""Files of tables that are compressed as a whole by gzip or zstd, as `.csv.gz`."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from anabranch.errors.dependency_errors import reason_of
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.json_text import refuse
from anabranch.versioning.strategies.rows.temporary_version import TemporaryVersion

__all__ = ["compressed_output", "unpack"]

_MAX_BYTES = 16 << 30
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def unpack(side: str, version: ObjectVersion, folder: str) -> ObjectVersion:
    """Returns the content of an object: of one that gzip or zstd has compressed, what it was
    before. Raises Conflict for one that is damaged, or has more than 16 GiB.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional library

    with version.open() as stream:
        start = stream.read(4)
        codec = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
        if codec is None:
            return version
        stream.seek(0)
        length = 0
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            try:
                content = pa.CompressedInputStream(stream, codec)
                while piece := content.read(1 << 20):
                    length += len(piece)
                    if length > _MAX_BYTES:
                        refuse(side, "has more than 16 GiB")
                    file.write(piece)
            except (OSError, EOFError, pa.ArrowException) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                reason = reason_of(error).splitlines()[0]
                refuse(side, f"cannot be read as {codec}: {reason}")
    return TemporaryVersion(file.name, version)


@contextmanager
def compressed_output(output: BinaryIO, codec: str, folder: str) -> Iterator[BinaryIO]:
    """Yields a stream whose content is written to `output`, compressed by `codec` unless that is
    "": equal content gives equal bytes.
    """
    if not codec:
        yield output
        return
    import pyarrow as pa  # noqa: PLC0415  an optional library

    with tempfile.TemporaryFile(dir=folder) as plain:
        yield cast(BinaryIO, plain)
        plain.seek(0)
        if codec == "gzip":
            with gzip.GzipFile("", "wb", fileobj=output, mtime=0) as stream:
                shutil.copyfileobj(plain, stream)
            return
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            shutil.copyfileobj(plain, stream)
        output.write(sink.getvalue())
