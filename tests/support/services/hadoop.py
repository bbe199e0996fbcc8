"""A Hadoop file system, called through the Java process of a Spark session.

Tests use it for single operations (folders, renames, ranges) that Spark performs only as part of a
job. Every method calls Hadoop's `FileSystem` or one of its streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FileStatus", "HadoopFileSystem", "ReadStream", "shell"]


class FileStatus(NamedTuple):
    """The status of a file or a folder: its URI, its length in bytes, whether it is a folder, and
    the quoted ETag of a file.
    """

    path: str
    length: int
    folder: bool
    etag: str | None


class HadoopFileSystem:
    """The file system of `root`, a URI such as `s3a://lake`, with additional settings. Methods
    raise Py4JJavaError, or the exceptions to which PySpark converts some of them. All contain the
    message of the Java exception.
    """

    def __init__(
        self, spark: SparkSession, root: str, settings: Mapping[str, str] | None = None
    ) -> None:
        self._root = root
        self._java = _java(spark)
        configuration = self._java.org.apache.hadoop.conf.Configuration(_configuration(spark))
        for name, value in (settings or {}).items():
            configuration.set(name, value)
        # a new instance, because a cached one may have other settings
        self._system = self._java.org.apache.hadoop.fs.FileSystem.newInstance(
            self._path("").toUri(), configuration
        )

    def close(self) -> None:
        """Closes its connections."""
        self._system.close()

    def mkdirs(self, path: str) -> None:
        """Creates a folder and its parents."""
        assert self._system.mkdirs(self._path(path))

    def write(self, path: str, content: bytes, *, overwrite: bool = True) -> None:
        """Writes a file."""
        _fill(self._system.create(self._path(path), overwrite), content)

    def write_on_condition(self, path: str, content: bytes, **options: bool | str) -> None:
        """Writes a file on conditions, which the store must support. The names of `options` are
        those of Hadoop's `fs.option.create...` with `_` for dots.
        """
        builder = self._system.createFile(self._path(path)).overwrite(True)
        for name, value in options.items():
            builder.must(f"fs.option.create.{name.replace('_', '.')}", value)
        _fill(builder.build(), content)

    def abandon(self, path: str, content: bytes) -> None:
        """Writes a file without closing it, like a killed process."""
        stream = self._system.create(self._path(path), True)
        stream.write(content)
        stream.hflush()

    @contextmanager
    def open(self, path: str, **options: str) -> Iterator[ReadStream]:
        """Opens a file. The names of `options` are Hadoop's `fs.option.openfile...`."""
        builder = self._system.openFile(self._path(path))
        for name, value in options.items():
            builder.must(f"fs.option.openfile.{name.replace('_', '.')}", value)
        stream = builder.build().get()
        try:
            yield ReadStream(self._java, stream)
        finally:
            stream.close()

    def read(self, path: str) -> bytes:
        """Returns the content of a file."""
        with self.open(path) as stream:
            return stream.read_all()

    def status(self, path: str) -> FileStatus:
        """Returns the status of a path."""
        return _status(self._system.getFileStatus(self._path(path)))

    def exists(self, path: str) -> bool:
        """Returns whether a path exists."""
        return bool(self._system.exists(self._path(path)))

    def list(self, path: str) -> list[FileStatus]:
        """Returns the children of a folder."""
        return [_status(each) for each in self._system.listStatus(self._path(path))]

    def walk(self, path: str) -> Iterator[FileStatus]:
        """Yields all files under a folder."""
        files = self._system.listFiles(self._path(path), True)
        while files.hasNext():
            yield _status(files.next())

    def rename(self, source: str, destination: str) -> bool:
        """Renames a file or a folder. Returns whether it was renamed."""
        return bool(self._system.rename(self._path(source), self._path(destination)))

    def delete(self, path: str) -> bool:
        """Deletes a file, or a folder with its contents. Returns whether it existed."""
        return bool(self._system.delete(self._path(path), True))

    def checksum(self, path: str) -> str | None:
        """Returns the checksum of a file as Hadoop prints it, or None."""
        checksum = self._system.getFileChecksum(self._path(path))
        return None if checksum is None else str(checksum.toString())

    def count(self, statistic: str) -> int:
        """Returns a counter of the file system, by Hadoop's name."""
        return int(self._system.getIOStatistics().counters().get(statistic) or 0)

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self._root}/{path}")


class ReadStream:
    """A Hadoop input stream of a file."""

    def __init__(self, java: Any, stream: Any) -> None:
        self._java = java
        self._stream = stream

    def read_all(self) -> bytes:
        """Returns the rest of the file."""
        return bytes(self._stream.readAllBytes())

    def read_at(self, start: int, length: int) -> bytes:
        """Returns up to `length` bytes from an offset."""
        self._stream.seek(start)
        return bytes(self._stream.readNBytes(length))

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Returns several ranges, each an offset and a length, with one vectored read."""
        file_ranges = self._java.java.util.ArrayList()
        for start, length in ranges:
            file_ranges.add(
                self._java.org.apache.hadoop.fs.FileRange.createFileRange(start, length)
            )
        self._stream.readVectored(file_ranges, _allocate(self._java))
        return [bytes(part.getData().get().array()) for part in file_ranges]


def shell(spark: SparkSession, *arguments: str) -> tuple[int, str]:
    """Runs a command of `hadoop fs` and returns its exit status and output."""
    java = _java(spark)
    output = java.java.io.ByteArrayOutputStream()
    before = java.java.lang.System.out
    context: Any = spark.sparkContext
    array = context._gateway.new_array(java.java.lang.String, len(arguments))
    for position, argument in enumerate(arguments):
        array[position] = argument
    java.java.lang.System.setOut(java.java.io.PrintStream(output))
    try:
        status = java.org.apache.hadoop.util.ToolRunner.run(
            _configuration(spark), java.org.apache.hadoop.fs.FsShell(), array
        )
    finally:
        java.java.lang.System.out.flush()
        java.java.lang.System.setOut(before)
    return int(status), str(output.toString())


def _java(spark: SparkSession) -> Any:
    return spark._jvm


def _configuration(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jsc.hadoopConfiguration()


def _fill(stream: Any, content: bytes) -> None:
    try:
        stream.write(content)
    finally:
        stream.close()


def _status(status: Any) -> FileStatus:
    folder = bool(status.isDirectory())
    etag = None if folder else status.getEtag()
    return FileStatus(str(status.getPath()), int(status.getLen()), folder, etag)


def _allocate(java: Any) -> Any:
    """Returns `ByteBuffer::allocate`, a function that Java calls without a callback to Python."""
    lang = java.java.lang
    buffer, number = lang.Class.forName("java.nio.ByteBuffer"), lang.Integer.TYPE
    handle = lang.invoke.MethodHandles.publicLookup().findStatic(
        buffer, "allocate", lang.invoke.MethodType.methodType(buffer, number)
    )
    return lang.invoke.MethodHandleProxies.asInterfaceInstance(
        lang.Class.forName("java.util.function.IntFunction"), handle
    )
