"""The kernel, written in Rust: tables of metadata, trees of them, checksums, signatures, HTTP.

A *table* is one RocksDB-compatible SSTable file, named by the digest of its records. A *range* is
a table of entries; a *metarange* is a table whose records describe ranges; a *tree* is a metarange
with its ranges, which is all the metadata of one commit. Tables are mapped, never copied.

A *record* is a key with a value of two parts: the identity, by which values are compared, and the
data. In this module a record's value is a `Value`: `(identity, data)`.

Long calls release the GIL. Damaged bytes raise `CorruptTable`, which names the file; errors of the
disk raise OSError.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, final

from anabranch._kernel_files import file_state as file_state
from anabranch._kernel_files import has_name as has_name
from anabranch._kernel_files import open_folder_beneath as open_folder_beneath
from anabranch._kernel_files import ordinary_place as ordinary_place
from anabranch._kernel_files import read_cached as read_cached
from anabranch._kernel_files import read_whole_cached as read_whole_cached
from anabranch._kernel_files import write_new_file as write_new_file
from anabranch._kernel_history import CommitGraph as CommitGraph
from anabranch._kernel_history import changed_paths_between as changed_paths_between
from anabranch._kernel_history import encode_changed_paths as encode_changed_paths
from anabranch._kernel_http import ChunkReader as ChunkReader
from anabranch._kernel_http import HeadReader as HeadReader
from anabranch._kernel_http import MalformedRequest as MalformedRequest
from anabranch._kernel_http import RequestHead as RequestHead
from anabranch._kernel_http import whole_answer as whole_answer
from anabranch._kernel_http import whole_request as whole_request
from anabranch._kernel_json import JsonLines as JsonLines
from anabranch._kernel_json import json_document_lines as json_document_lines
from anabranch._kernel_layers import Layer as Layer
from anabranch._kernel_layers import LayerCounts as LayerCounts
from anabranch._kernel_layers import write_layers as write_layers
from anabranch._kernel_signatures import SignedHead as SignedHead
from anabranch._kernel_signatures import canonical_request as canonical_request
from anabranch._kernel_signatures import is_signature_v4 as is_signature_v4
from anabranch._kernel_signatures import joined_headers as joined_headers
from anabranch._kernel_signatures import signature_v4 as signature_v4
from anabranch._kernel_tables import table_index_start as table_index_start
from anabranch._kernel_tables import table_properties as table_properties
from anabranch._kernel_tables import table_records as table_records
from anabranch._kernel_tables import table_span as table_span
from anabranch._kernel_tables import verify_table as verify_table

Value: TypeAlias = tuple[bytes, bytes]
"""(identity, data) of a record."""

EMPTY_TREE_ID: str
"""The metarange id of a repository's first commit, which has no tree: the empty string. It opens as
a tree without entries. An empty tree that is written has an ordinary id."""

class KernelError(Exception):
    """Base class of the kernel's errors."""

class CorruptTable(KernelError):
    """A table's bytes are damaged. `path` is the file, `reason` describes the damage."""

    path: str
    reason: str

class MissingTable(KernelError):
    """The file `path` of the table `table_id` does not exist."""

    table_id: str
    path: str

# --- identities and codecs -------------------------------------------------------------------

def entry_identity(
    size: int, checksum: str, metadata: Mapping[str, str], content_type: str
) -> bytes:
    """Returns the 32 bytes that identify the content; they do not depend on the address."""

def encode_entry(
    address: str,
    address_type: int,
    mtime: int,
    mtime_nanos: int,
    size: int,
    checksum: str,
    metadata: Mapping[str, str],
    content_type: str,
) -> Value:
    """Returns an entry's identity and its protobuf form, metadata sorted by key."""

def decode_entry(data: bytes) -> tuple[str, int, int, int, int, str, dict[str, str], str]:
    """Returns the arguments of `encode_entry`. Raises KernelError for malformed bytes."""

def encode_staged(key: bytes, value: Value | None) -> bytes:
    """Returns a StagedEntryData record; None is a tombstone."""

def decode_staged(data: bytes) -> tuple[bytes, Value | None]:
    """Returns the key and value of a StagedEntryData record; None is a tombstone."""

def commit_id(
    committer: str,
    message: str,
    metarange_id: str,
    creation_date: int,
    metadata: Mapping[str, str],
    parents: Sequence[str],
) -> str:
    """Returns the id of a commit, a digest; `creation_date` is in seconds since 1970."""

# --- tables ----------------------------------------------------------------------------------

@final
class RangeInfo:
    """One range of a tree, as its metarange describes it."""

    id: str
    min_key: bytes
    max_key: bytes
    count: int
    estimated_size: int
    def __init__(
        self, id: str, min_key: bytes, max_key: bytes, count: int, estimated_size: int
    ) -> None: ...

@final
class Written:
    """The result of a write to a folder."""

    metarange_id: str
    """The new tree's id."""
    tables: list[str]
    """Ids of the tables written, metarange included; reused ones are not among them."""
    count: int
    """Entries in the new tree."""
    added: int
    changed: int
    removed: int
    """Numbers of records in which the new tree differs from its base."""
    changed_paths: bytes | None
    """The paths that the changes name, for `encode_changed_paths`; None for other writes."""
    unsynced: list[tuple[str, bytes]]
    """Ids and bytes of small tables in the folder which the caller has to make durable."""

# --- trees -----------------------------------------------------------------------------------

@final
class Tables:
    """A pool of open tables, which closes the least recently used ones.

    `capacity` is the maximum number of open tables. The index of an open table takes less than a
    byte of memory per entry, besides the mapping.
    """

    def __init__(self, capacity: int = 4096) -> None: ...
    def tree(self, metarange_id: str, locate: Callable[[str], str]) -> Tree:
        """Opens a tree. `locate` returns the path of a table's file by its id, after downloading it
        if necessary; it is called from any thread when a table must be opened.
        """
    def open_count(self) -> int: ...
    def forget(self, table_id: str) -> None:
        """Closes a table if it is open; concurrent readers keep their mapping."""

@final
class Tree:
    """All entries of one commit, ordered by the bytes of their keys. Immutable."""

    metarange_id: str
    def __len__(self) -> int: ...
    def ranges(self) -> list[RangeInfo]: ...
    def get(self, key: bytes) -> Value | None: ...
    def get_many(self, keys: Sequence[bytes]) -> list[Value | None]: ...
    def contains_prefix(self, prefix: bytes) -> bool: ...
    def listing(
        self, *, prefix: bytes = b"", after: bytes = b"", delimiter: bytes = b"", amount: int
    ) -> Listing:
        """Starts a page of at most `amount` items: records whose key begins with `prefix` and is
        greater than `after`. With a delimiter, keys that contain it after the prefix are grouped
        into common prefixes. If `after` is a common prefix, its members are skipped.
        """
    def diff(
        self,
        other: Tree,
        *,
        prefix: bytes = b"",
        after: bytes = b"",
        until: bytes | None = None,
        delimiter: bytes = b"",
        amount: int,
    ) -> DiffPage:
        """Returns a page of the changes from this tree to `other`, of keys up to `until`."""
    def part(self, number: int, parts: int) -> tuple[bytes, bytes | None]:
        """Returns the key after which a part of the tree begins and its last key, None for no end:
        `parts` of about equal size have all keys. Reads only the indexes of ranges.
        """
    def compare(
        self,
        source: Tree,
        base: Tree,
        *,
        prefix: bytes = b"",
        after: bytes = b"",
        delimiter: bytes = b"",
        amount: int,
    ) -> DiffPage:
        """Returns a page of the changes that a merge of `source` into this tree would make, given
        their base. Keys that both sides changed differently have the kind "conflict".
        """
    def addresses(
        self, *, after: bytes, last: bytes, amount: int
    ) -> tuple[list[tuple[bytes, bytes, int]], bytes | None]:
        """Returns addresses of the entries with keys after `after` and up to `last`, as (key,
        address, address type): of each folder the first with an ordinary name, and all with other
        names, at most `amount`. Also returns the key after which there may be more, or None.
        """
    def apply(self, changes: Iterable[tuple[bytes, Value | None]], folder: str) -> Written:
        """Writes the tree with `changes` applied (None deletes), which must be sorted by key
        without repetitions. Ranges without changes are reused by id; a change without effect does
        not count. Tables are written to `folder` under their ids, by way of a temporary name, and
        are complete and synced when this returns. Raises ValueError for keys out of order.
        """
    def apply_staged(
        self, rows: Iterable[tuple[bytes, bytes]], folder: str, *, unsynced: bool = False
    ) -> Written:
        """Like `apply`, with changes as keys and StagedEntryData records. With `unsynced`, tables
        of up to 64 KiB are complete, but not synced: the result has their bytes. Raises
        KernelError for malformed records.
        """
    def merge(
        self,
        source: Tree,
        base: Tree,
        folder: str,
        *,
        strategy: Literal["", "source-wins", "dest-wins"] = "",
        max_conflicts: int = 1000,
        unsynced: bool = False,
    ) -> Merged:
        """Merges `source` into this tree, given their base. With conflicts and no strategy, no
        metarange is written, and the merge stops when it has found those that it lists. `unsynced`
        is as for `apply_staged`.
        """
    def merge_counts(self, source: Tree, base: Tree) -> tuple[int, int, int, int]:
        """Returns how many keys a merge would add, change and remove, and the conflicts apart."""
    def conflicts(
        self, source: Tree, base: Tree, *, prefix: bytes = b"", after: bytes = b"", amount: int
    ) -> tuple[list[tuple[bytes, Value | None, Value | None, Value | None]], bool]:
        """Returns a page of the conflicts, (key, base, source, this), and if more follow."""
    def scan(
        self, *, prefix: bytes = b"", after: bytes = b"", decoded: bool = True, batch: int = 65536
    ) -> ArrowStream:
        """Returns the entries as a stream of Arrow record batches (PyCapsule interface):
        decoded (path, physical_address, address_type, last_modified, size, checksum, metadata,
        content_type) or raw (key, identity, data).
        """

    def search(
        self,
        columns: Sequence[str],
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        namespace: str = "",
        local_root: str = "",
        sizes: tuple[int, int] | None = None,
        times: tuple[int, int] | None = None,
        content_types: Sequence[str] = (),
        metadata: Sequence[tuple[str, str, Sequence[str]]] = (),
        batch: int = 65536,
    ) -> ArrowStream:
        """Returns the entries that meet all conditions, with some columns, as a stream of Arrow
        record batches: of key (bytes), path, physical_address, last_modified, size, checksum,
        metadata, content_type. Keys begin with `prefix`, are at least `start` and less than `end`;
        sizes, and times in microseconds since 1970, are between two values, both included. User
        metadata have a key whose value is one of several (`in`), begins or ends with one (`prefix`,
        `suffix`), has one inside (`contains`), or is any (`exists`).

        Entries are shown as in listings: addresses in full, with `namespace` and `local_root`, a
        default content type, U+FFFD for bytes that are not UTF-8. A time out of bounds is null.
        """

    def changes(
        self,
        right: Tree,
        columns: Sequence[str],
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        kinds: Sequence[str] = (),
        namespace: str = "",
        local_root: str = "",
        batch: int = 65536,
    ) -> ArrowStream:
        """Returns what must change to make this tree the `right` one, as a stream of Arrow record
        batches of some columns: change (one of `kinds`, if any: added, removed, changed), key
        (bytes), path, left and right, which have the columns of `search` but key and path, or are
        null. Keys are bounded, and entries shown, as by `search`.
        """

@final
class Listing:
    """A page being filled from a tree with staged changes applied. The caller feeds the changes in
    pieces, as far as the page needs them: while not `done`, those of `position` and later keys.
    """

    position: bytes
    done: bool
    has_more: bool
    """Whether items follow the page; known when done."""
    def feed(self, changes: Sequence[tuple[bytes, Value | None]], last: bool) -> None:
        """Continues up to the last of these changes, or, if they are the `last`, to the end of the
        page or the tree. Keys must be sorted and at least `position`.
        """
    def feed_staged(self, rows: Sequence[tuple[bytes, bytes]], last: bool) -> None:
        """Like `feed`, with keys and StagedEntryData records. Raises KernelError."""
    def replace(self, rows: Sequence[tuple[bytes, Value | None]], has_more: bool) -> None:
        """Replaces the page's items by these, in order, and `has_more`. The page is done."""
    def __len__(self) -> int: ...
    def rows(self) -> list[tuple[bytes, Value | None]]:
        """Returns the page's items in order; the value of a common prefix is None."""
    def paths(self) -> list[str]:
        """Returns the keys of the page's items as paths, in order."""
    def last_key(self) -> bytes: ...
    def object_stats_json(
        self, storage_namespace: str, user_metadata: bool, local_root: str = ""
    ) -> bytes:
        """Returns the page as lakeFS JSON; `local_root` replaces the scheme of local addresses."""
    def s3_elements(
        self,
        root: bytes,
        *,
        name: str = "Contents",
        after_key: str = "",
        at_end: str = "",
        encoded: bool = False,
    ) -> bytes:
        """Returns the page as XML elements of S3 listings, with keys prefixed by `root`: objects as
        `<name>` with Key, `after_key`, LastModified, ETag, Size and `at_end`, common prefixes as
        `<CommonPrefixes>`. Keys are escaped, or percent-encoded if `encoded`; `after_key` and
        `at_end` are XML elements.
        """

@final
class DiffPage:
    rows: list[tuple[str, bytes, Value | None, Value | None]]
    """(kind, key, left, right); kind is one of "added", "removed", "changed", "conflict",
    "prefix_changed" (a common prefix, without values)."""
    has_more: bool

@final
class Merged:
    written: Written | None
    """None if there are unresolved conflicts."""
    conflicts: list[bytes]
    """The first `max_conflicts` conflicting keys in order, unless a strategy resolved them."""
    has_more: bool

@final
class ArrowStream:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def write_tree(
    records: Iterable[tuple[bytes, Value]],
    folder: str,
    *,
    metadata: Mapping[str, str] = ...,
    unsynced: bool = False,
) -> Written:
    """Writes sorted records as a tree into `folder`, with the range boundaries of lakeFS. All
    tables have `metadata`, which is part of their ids. `unsynced` is as for `Tree.apply_staged`.
    Raises ValueError for keys out of order.
    """

def write_arrow(source: Any, folder: str) -> Written:
    """Writes an Arrow stream (any object with `__arrow_c_stream__`), sorted by path and in either
    form of `Tree.scan`, as a tree into `folder`.
    """

def write_ranges_arrow(source: Any, folder: str) -> list[RangeInfo]:
    """Like `write_arrow`, without a metarange."""

def path_order(source: Any) -> bytes:
    """Returns the row numbers of a stream of record batches in the byte order of the column `path`,
    as native integers of four bytes. The sort is stable; rows without a path are last. Raises
    KernelError if the column is not text.
    """

def write_metarange(ranges: Sequence[RangeInfo], folder: str) -> str:
    """Writes the metarange of ranges in order and returns its id."""

def ends_range(key: bytes) -> bool:
    """Returns whether a range ends after this key, whatever its size."""

# --- checksums -------------------------------------------------------------------------------

def crc32c(data: bytes | bytearray, value: int = 0, /) -> int:
    """Continues the CRC-32C `value` with `data`."""

def crc64nvme(data: bytes | bytearray, value: int = 0, /) -> int:
    """Continues the CRC-64/NVME `value` with `data`."""
