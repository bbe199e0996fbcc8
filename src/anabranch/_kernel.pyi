"""The kernel, written in Rust: tables of metadata, trees of them, checksums, signatures, HTTP.

A *table* is one RocksDB-compatible SSTable file, named by the digest of its records. A *range* is
a table of entries; a *metarange* is a table whose records describe ranges; a *tree* is a metarange
with its ranges, which is all the metadata of one commit. Tables are mapped, never copied.

A *record* is a key with a value of two parts: the identity, which says whether two values are the
same, and the data, which is whatever the reader needs. Everywhere here a record's value is a
`Value`: `(identity, data)`.

Calls that may run long release the GIL. Bad bytes raise `CorruptTable`, which names the file;
what the disk refuses raises OSError.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, final

Value: TypeAlias = tuple[bytes, bytes]
"""(identity, data) of a record."""

EMPTY_TREE_ID: str
"""What stands for a metarange id where there is no tree yet, in a repository's first commit: the
empty string. It opens as a tree without entries. One that is written has an id as any other."""

class KernelError(Exception):
    """Whatever goes wrong in the kernel."""

class CorruptTable(KernelError):
    """A table's bytes are not what they must be. `path` is the file, `reason` says what."""

    path: str
    reason: str

class MissingTable(KernelError):
    """There is no file for a table id. `table_id` and `path` say which."""

    table_id: str
    path: str

# --- identities and codecs -------------------------------------------------------------------

def entry_identity(
    size: int, checksum: str, metadata: Mapping[str, str], content_type: str
) -> bytes:
    """Returns the 32 bytes that tell one content from another; the address has no part in it."""

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
    """Returns the arguments of `encode_entry`. Raises KernelError for bytes that are no entry."""

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
    """Returns the digest that names a commit; `creation_date` in seconds."""

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
    """What a write left in its folder."""

    metarange_id: str
    """The new tree's id."""
    tables: list[str]
    """Ids of the tables written, metarange included; reused ones are not among them."""
    count: int
    """Entries in the new tree."""
    added: int
    changed: int
    removed: int
    """Records in which the new tree differs from the one it was made from."""

def verify_table(path: str) -> str:
    """Reads a whole table, checks every checksum and the order of keys, and returns its id
    computed from its records. Raises CorruptTable.
    """

def table_properties(path: str) -> dict[str, bytes]:
    """Returns the properties of a table by name."""

def table_records(path: str) -> list[tuple[bytes, bytes]]:
    """Returns a table's raw records: (key, encoded value). For tools and tests."""

# --- trees -----------------------------------------------------------------------------------

@final
class Tables:
    """A pool of open tables, which closes the least recently used ones.

    `capacity` is how many tables stay open; an open table takes less than a byte of memory an
    entry for its index, besides the mapping.
    """

    def __init__(self, capacity: int = 4096) -> None: ...
    def tree(self, metarange_id: str, locate: Callable[[str], str]) -> Tree:
        """Opens a tree. `locate` returns the path of a table's file by its id (and brings it
        there when it must); it is called when a table is not open, from any thread.
        """
    def open_count(self) -> int: ...
    def forget(self, table_id: str) -> None:
        """Closes a table, if it is open; readers in flight keep their mapping."""

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
        """Starts a page of at most `amount` items: records whose key begins with `prefix`, comes
        after `after`, and, with a delimiter, what has the delimiter after the prefix as one
        common prefix. `after` may itself be a common prefix, whose members are then skipped.
        """
    def diff(
        self,
        other: Tree,
        *,
        prefix: bytes = b"",
        after: bytes = b"",
        delimiter: bytes = b"",
        amount: int,
    ) -> DiffPage:
        """Returns a page of what must change in this tree to make it `other`."""
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
        """Returns a page of what merging `source` into this tree would do, given their base;
        paths that both sides changed, differently, have the kind "conflict".
        """
    def apply(self, changes: Iterable[tuple[bytes, Value | None]], folder: str) -> Written:
        """Writes the tree with `changes` made (None deletes), which must be sorted by key
        without repetitions. Whole ranges that no change touches are reused by id; a change that
        equals what is there, or deletes what is not, is none. Tables go to `folder` under their
        ids, by a temporary name and synced, and are complete when this returns. Raises
        ValueError for keys out of order.
        """
    def apply_staged(self, rows: Iterable[tuple[bytes, bytes]], folder: str) -> Written:
        """Like `apply`, of changes as a key-value store holds them: keys and StagedEntryData
        records. Raises KernelError for bytes that are no such record.
        """
    def merge(
        self,
        source: Tree,
        base: Tree,
        folder: str,
        *,
        strategy: Literal["", "source-wins", "dest-wins"] = "",
        max_conflicts: int = 1000,
    ) -> Merged:
        """Merges `source` into this tree, given their base. With conflicts and no strategy
        nothing is left behind that names a tree.
        """
    def scan(
        self, *, prefix: bytes = b"", after: bytes = b"", decoded: bool = True, batch: int = 65536
    ) -> ArrowStream:
        """Returns the entries as a stream of Arrow record batches (PyCapsule interface):
        decoded (path, physical_address, address_type, last_modified, size, checksum, metadata,
        content_type) or raw (key, identity, data).
        """

@final
class Listing:
    """A page being filled from a tree and the staged changes that lie over it.

    The caller feeds staged changes in pieces, so that a page never needs more of them than it
    shows: while not `done`, feed the changes whose keys are at least `position`.
    """

    position: bytes
    done: bool
    has_more: bool
    """Whether items follow the page; known when done."""
    def feed(self, changes: Sequence[tuple[bytes, Value | None]], last: bool) -> None:
        """Continues up to the last of these changes, or, when they are the `last`, to the end
        of the page or of the tree. Keys must be sorted and not before `position`.
        """
    def feed_staged(self, rows: Sequence[tuple[bytes, bytes]], last: bool) -> None:
        """Like `feed`, of keys and StagedEntryData records. Raises KernelError for other bytes."""
    def __len__(self) -> int: ...
    def rows(self) -> list[tuple[bytes, Value | None]]:
        """The page's items in order; None in place of a value marks a common prefix."""
    def last_key(self) -> bytes: ...
    def object_stats_json(
        self, storage_namespace: str, user_metadata: bool, local_root: str = ""
    ) -> bytes:
        """The page as JSON of lakeFS; `local_root` replaces the scheme of full local addresses."""
    def s3_elements(
        self,
        root: bytes,
        *,
        name: str = "Contents",
        after_key: str = "",
        at_end: str = "",
        encoded: bool = False,
    ) -> bytes:
        """The page as the XML elements of S3's listings, keys behind `root`: of an object
        `<name>` with Key, `after_key`, LastModified, ETag, Size and `at_end`, of a common prefix
        `<CommonPrefixes>`. Keys are escaped, or percent-encoded if `encoded`; the texts
        `after_key` and `at_end` are elements already.
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
    """None when there are conflicts that no strategy solved."""
    conflicts: list[bytes]
    """The first `max_conflicts` conflicting keys, in order; empty when a strategy solved them."""
    conflict_count: int

@final
class ArrowStream:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def write_tree(records: Iterable[tuple[bytes, Value]], folder: str) -> Written:
    """Writes sorted records as a tree into `folder`, cut into ranges as lakeFS cuts them.
    Raises ValueError for keys out of order or repeated.
    """

def write_arrow(source: Any, folder: str) -> Written:
    """Writes an Arrow stream (anything with `__arrow_c_stream__`), in either form that
    `Tree.scan` gives, sorted by path, as a tree into `folder`.
    """

def write_ranges_arrow(source: Any, folder: str) -> list[RangeInfo]:
    """Like `write_arrow`, without a metarange."""

def path_order(source: Any) -> bytes:
    """Returns the order in which the rows of a stream of record batches have their column `path`
    sorted by bytes: row numbers of four bytes each, as this machine writes them. Rows with equal
    paths stay as they came; those without come last. Raises KernelError for a column that is no
    text.
    """

def write_metarange(ranges: Sequence[RangeInfo], folder: str) -> str:
    """Writes the metarange of ranges in order and returns its id."""

# --- layers ----------------------------------------------------------------------------------

@final
class Layer:
    """The entries of a tree whose keys begin with `prefix`, which is replaced by `target`.

    With `single` only the entry with the key `prefix` is meant. Addresses that are relative to
    the storage `namespace` are made full (`AddressType.FULL`); with None they stay as they are.
    `leave_out` is asked for each name, which is what a key has behind the prefix, from any
    thread; where it returns a true value, the entry is left out. It costs about two
    microseconds an entry.

    A layer with an unchanged prefix, without a namespace and without `leave_out`, is *taken as
    it is*: whole ranges of it are reused unread. Its tables must be ones that the new tree's
    repository has.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        prefix: bytes = b"",
        target: bytes = b"",
        single: bool = False,
        namespace: str | None = None,
        leave_out: Callable[[bytes], object] | None = None,
    ) -> None: ...

@final
class LayerCounts:
    """What was met in a layer."""

    found: int
    """Its entries, those that are left out or unfit not among them."""
    left_out: int
    shadowed: int
    """Entries whose key is one of a layer above too."""
    shadowed_keys: list[bytes]
    """The first ten of their new keys."""
    unfit: int
    """Entries whose new key would be empty or too long, which are not in the tree."""
    unfit_keys: list[bytes]
    """The first ten of their old keys."""
    size: int
    """The sizes of the objects found, in bytes; 0 for a layer that is taken as it is."""
    shadowed_size: int
    """The sizes of the objects shadowed."""

def write_layers(
    layers: Sequence[Layer],
    folder: str,
    *,
    longest_key: int = 1024,
    look: Callable[[int], object] | None = None,
) -> tuple[Written, list[LayerCounts]]:
    """Writes the tree of layers laid over each other into `folder`: of the entries of one key
    that of the last layer counts, also where their identities are equal.

    Returns what was written, without the tables of layers that are taken as they are, and the
    counts of each layer. The tree is the one that `write_tree` makes of the same entries, byte
    for byte: it depends on what the layers hold alone, not on how their trees are cut. Entries
    keep their identities, of which the address is no part. An unfit key is no error; who has
    found one uses no such tree.

    Large layers are written by several threads. `look` is called on the caller's own, about every
    16,000 entries and at the end, with how many more of all layers were passed; what it raises
    ends the work, as does what `leave_out` raises. Raises KernelError for values that are no
    entries.
    """

# --- signatures of version 4 -----------------------------------------------------------------

def joined_headers(pairs: Iterable[tuple[bytes | str, bytes | str]]) -> dict[str, str]:
    """Returns headers by lower-case name, with a character for each byte (Latin-1); the values of
    a name that comes several times are trimmed and joined by commas, in order. Text that is not
    Latin-1 stands for its UTF-8.
    """

SignedHead: TypeAlias = tuple[str, str, str, dict[str, str], str, str]
"""(method, path, query, headers, signed headers, payload) of a request: what a signature covers.
The signed headers are named as `name;name`; all text is Latin-1, a character for each byte."""

def canonical_request(head: SignedHead, *, as_sent: bool = False) -> str:
    """Returns the canonical form of a request: path and query decoded and encoded anew, parameters
    sorted without X-Amz-Signature, spaces in headers folded; or, with `as_sent`, the parameters
    sorted and all else as it is. Raises ValueError for text that is not Latin-1.

    [AWS, "Signature Version 4 signing process for Amazon S3"]
    """

def signature_v4(key: bytes, timestamp: str, scope: str, canonical: str) -> str:
    """Returns the signature over a canonical request in hexadecimal, by the key of 32 bytes that
    was derived for the scope `YYYYMMDD/region/service/aws4_request`. Raises ValueError for a key
    of another length.
    """

def is_signature_v4(
    signature: str,
    key: bytes,
    timestamp: str,
    scope: str,
    head: SignedHead,
    *,
    as_sent: bool = False,
) -> bool:
    """Returns whether `signature` is that over the canonical form of a request, in a time that
    does not depend on where it differs. Raises ValueError as `canonical_request` and
    `signature_v4` do.
    """

# --- plain messages of HTTP --------------------------------------------------------------------

def whole_request(data: bytes) -> tuple[str, str, str, dict[str, str], bytes] | None:
    """Returns (method, path, query, headers, body) of the request of HTTP/1.1 that `data` is, from
    its first byte to its last; headers as `joined_headers` makes them, the rest as it was sent.
    None for anything else, which may still be a request: `HeadReader` tells (RFC 9112).
    """

class MalformedRequest(Exception):
    """A request that cannot be read; its arguments are the response's status and the reason."""

@final
class RequestHead:
    """The head of a request. `path`, `query` and `headers` are as `whole_request` returns them,
    `pairs` are the headers as ASGI has them; the authority of an absolute target replaces the
    `Host` header. `length` is the body's in bytes, None for one in chunks. `keep_alive` says
    whether the connection persists, `expects_continue` whether the client waits for `100 Continue`.
    """

    method: str
    path: str
    query: str
    is_1_0: bool
    headers: dict[str, str]
    pairs: list[tuple[bytes, bytes]]
    length: int | None
    keep_alive: bool
    expects_continue: bool

@final
class HeadReader:
    """A head that arrives in pieces: at most 64 KiB, 200 header lines. Upgrades are ignored."""

    empty: bool

    def take(self, data: bytes, start: int, /) -> tuple[int, RequestHead | None]:
        """Takes the bytes from `start` that belong to the head. Returns where they end, and the
        head once it is complete. Raises MalformedRequest at the first line that no head has.
        """

@final
class ChunkReader:
    """A body in chunks that arrives in pieces, until it is `done`, with at most 8 KiB of chunk
    extensions and of trailers, which are dropped (RFC 9112, 7.1).
    """

    done: bool

    def take(self, data: bytes, start: int, /) -> tuple[int, bytes]:
        """Takes the bytes from `start` that belong to the body. Returns where they end, and their
        content. Raises MalformedRequest for what is not chunks.
        """

def whole_answer(
    status_line: bytes,
    headers: list[tuple[bytes, bytes]],
    more_headers: list[tuple[str, str]],
    body: bytes,
) -> bytes | None:
    """Returns an answer as it is sent, names in lower case, text as `joined_headers` has it; None
    if a header would be more than one line.
    """

# --- checksums -------------------------------------------------------------------------------

def crc32c(data: bytes | bytearray, value: int = 0, /) -> int:
    """Returns the CRC-32C of what `value` is the checksum of, followed by `data`."""

def crc64nvme(data: bytes | bytearray, value: int = 0, /) -> int:
    """Returns the CRC-64/NVME of what `value` is the checksum of, followed by `data`."""

# --- files -----------------------------------------------------------------------------------

def has_name(descriptor: int) -> bool:
    """Returns whether an open file is in its folder still. Raises OSError for no descriptor."""

def read_cached(path: str, start: int, length: int) -> bytes | None:
    """Returns a part of a file if it is there and in the system's memory (Linux), else None."""

def read_whole_cached(path: str, size: int) -> tuple[bytes, int] | None:
    """Returns a file of this size, as `read_cached`, and its identity, as `file_state`."""

def ordinary_place(address: str) -> tuple[str, str] | None:
    """Returns folder and name for an address that is like almost all; see `place_of`."""

def file_state(path: str | int) -> tuple[int, int] | None:
    """Returns size in bytes and identity of a regular file, which changes with it, else None."""

def write_new_file(path: str, body: bytes) -> int:
    """Writes a new file, unsynced. Returns 0, or the system's error; then nothing stays."""
