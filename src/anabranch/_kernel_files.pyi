"""A part of the stubs of `_kernel`, not a module: system calls on files."""

def open_folder_beneath(root: str, folder: str) -> int | None:
    """Returns a descriptor of a folder below a root, opened for reading without following links
    below the root; None if it cannot be opened, also where the system lacks the call (Linux).
    """

def has_name(descriptor: int) -> bool:
    """Returns whether an open file still has a name. Raises OSError for an invalid descriptor."""

def read_cached(path: str, start: int, length: int) -> bytes | None:
    """Returns a part of a file if it is in the page cache (Linux), else None."""

def read_whole_cached(path: str, size: int) -> tuple[bytes, int] | None:
    """Like `read_cached` for a whole file of this size; adds the identity of `file_state`."""

def ordinary_place(address: str) -> tuple[str, str] | None:
    """Returns folder and name of an address in the usual form, else None; see `place_of`."""

def file_state(path: str | int) -> tuple[int, int] | None:
    """Returns size in bytes and identity of a regular file, else None. Writes change the latter."""

def write_new_file(path: str, body: bytes) -> int:
    """Creates a file without syncing. Returns 0, or the errno; the file is then removed."""
