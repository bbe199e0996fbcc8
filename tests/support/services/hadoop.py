"""A file system of Hadoop, spoken to through a Spark session's Java process.

What Spark does only on the way to something else (folders, renames, ranges), tests do here one by
one. Every method is a call of Hadoop's own `FileSystem` and of the streams that it gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FileStatus", "HadoopFileSystem", "ReadStream", "shell"]


class FileStatus(NamedTuple):
    """What is at a path: its whole address, its length in bytes, whether it is a folder, and its
    ETag in quotes, which a folder has not.
    """

    path: str
    length: int
    folder: bool
    etag: str | None


class HadoopFileSystem:
    """The file system of `root`, an address such as `s3a://lake`, with settings of its own beside
    those of the session. Errors are Py4JJavaError, or what PySpark makes of some of them; all hold
    the words of the Java exception.
    """

    def __init__(
        self, spark: SparkSession, root: str, settings: Mapping[str, str] | None = None
    ) -> None:
        self._root = root
        self._java = _java(spark)
        configuration = self._java.org.apache.hadoop.conf.Configuration(_configuration(spark))
        for name, value in (settings or {}).items():
            configuration.set(name, value)
        # one of its own: the shared one has the settings of whoever came first
        self._system = self._java.org.apache.hadoop.fs.FileSystem.newInstance(
            self._path("").toUri(), configuration
        )

    def close(self) -> None:
        """Ends its connections."""
        self._system.close()

    def mkdirs(self, path: str) -> None:
        """Makes a folder, and those above it."""
        assert self._system.mkdirs(self._path(path))

    def write(self, path: str, content: bytes, *, overwrite: bool = True) -> None:
        """Writes a file."""
        _fill(self._system.create(self._path(path), overwrite), content)

    def write_on_condition(self, path: str, content: bytes, **options: bool | str) -> None:
        """Writes a file on conditions that the store must hold to. The names of `options` are
        Hadoop's `fs.option.create...` with `_` for the dots.
        """
        builder = self._system.createFile(self._path(path)).overwrite(True)
        for name, value in options.items():
            builder.must(f"fs.option.create.{name.replace('_', '.')}", value)
        _fill(builder.build(), content)

    def abandon(self, path: str, content: bytes) -> None:
        """Writes a file and never closes it: what a process does that is killed."""
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
        """Returns a whole file."""
        with self.open(path) as stream:
            return stream.read_all()

    def status(self, path: str) -> FileStatus:
        """Returns what is at a path."""
        return _status(self._system.getFileStatus(self._path(path)))

    def exists(self, path: str) -> bool:
        """Returns whether anything is at a path."""
        return bool(self._system.exists(self._path(path)))

    def list(self, path: str) -> list[FileStatus]:
        """Returns what is in a folder."""
        return [_status(found) for found in self._system.listStatus(self._path(path))]

    def walk(self, path: str) -> Iterator[FileStatus]:
        """Yields all files below a folder."""
        found = self._system.listFiles(self._path(path), True)
        while found.hasNext():
            yield _status(found.next())

    def rename(self, source: str, destination: str) -> bool:
        """Renames a file or a folder, and returns whether that was done."""
        return bool(self._system.rename(self._path(source), self._path(destination)))

    def delete(self, path: str) -> bool:
        """Deletes a file, or a folder with what is in it, and returns whether it was there."""
        return bool(self._system.delete(self._path(path), True))

    def checksum(self, path: str) -> str | None:
        """Returns what the file system gives as a file's checksum, in Hadoop's words."""
        found = self._system.getFileChecksum(self._path(path))
        return None if found is None else str(found.toString())

    def count(self, statistic: str) -> int:
        """Returns how often it has done something, by Hadoop's name of it."""
        return int(self._system.getIOStatistics().counters().get(statistic) or 0)

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self._root}/{path}")


class ReadStream:
    """Hadoop's stream over a file."""

    def __init__(self, java: Any, stream: Any) -> None:
        self._java = java
        self._stream = stream

    def read_all(self) -> bytes:
        """Returns the rest of the file."""
        return bytes(self._stream.readAllBytes())

    def read_at(self, start: int, length: int) -> bytes:
        """Returns so many bytes, fewer at the end of the file, from an offset."""
        self._stream.seek(start)
        return bytes(self._stream.readNBytes(length))

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Returns several parts, each given by its offset and length, by one vectored read."""
        wanted = self._java.java.util.ArrayList()
        for start, length in ranges:
            wanted.add(self._java.org.apache.hadoop.fs.FileRange.createFileRange(start, length))
        self._stream.readVectored(wanted, _allocate(self._java))
        return [bytes(part.getData().get().array()) for part in wanted]


def shell(spark: SparkSession, *words: str) -> tuple[int, str]:
    """Runs a command of `hadoop fs` and returns its status and what it printed."""
    java = _java(spark)
    printed = java.java.io.ByteArrayOutputStream()
    before = java.java.lang.System.out
    context: Any = spark.sparkContext
    array = context._gateway.new_array(java.java.lang.String, len(words))
    for position, word in enumerate(words):
        array[position] = word
    java.java.lang.System.setOut(java.java.io.PrintStream(printed))
    try:
        status = java.org.apache.hadoop.util.ToolRunner.run(
            _configuration(spark), java.org.apache.hadoop.fs.FsShell(), array
        )
    finally:
        java.java.lang.System.out.flush()
        java.java.lang.System.setOut(before)
    return int(status), str(printed.toString())


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


def _status(found: Any) -> FileStatus:
    folder = bool(found.isDirectory())
    etag = None if folder else found.getEtag()
    return FileStatus(str(found.getPath()), int(found.getLen()), folder, etag)


def _allocate(java: Any) -> Any:
    """Returns `ByteBuffer::allocate`, a function that Java can call without asking Python."""
    lang = java.java.lang
    buffer, number = lang.Class.forName("java.nio.ByteBuffer"), lang.Integer.TYPE
    handle = lang.invoke.MethodHandles.publicLookup().findStatic(
        buffer, "allocate", lang.invoke.MethodType.methodType(buffer, number)
    )
    return lang.invoke.MethodHandleProxies.asInterfaceInstance(
        lang.Class.forName("java.util.function.IntFunction"), handle
    )
