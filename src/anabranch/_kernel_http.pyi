"""A part of the stubs of `_kernel`, not a module: plain messages of HTTP."""

from typing import final

def whole_request(data: bytes) -> tuple[str, str, str, dict[str, str], bytes] | None:
    """Parses `data` as exactly one plain HTTP/1.1 request. Returns (method, path, query, headers,
    body), with headers as of `joined_headers` and the rest as sent, or None for anything else,
    which may still be a request that `HeadReader` parses (RFC 9112).
    """

class MalformedRequest(Exception):
    """A request that cannot be parsed; the arguments are the response's status and the reason."""

@final
class RequestHead:
    """The head of a request. `path`, `query` and `headers` are as of `whole_request`, `pairs` are
    the headers for ASGI; the authority of an absolute target replaces the `Host` header. `length`
    is the body's in bytes, None if it is chunked. `keep_alive` is whether the connection persists,
    `expects_continue` whether the client waits for `100 Continue`.
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
    """Incremental parser of a head: at most 64 KiB, 200 header lines. Upgrades are ignored."""

    empty: bool

    def take(self, data: bytes, start: int, /) -> tuple[int, RequestHead | None]:
        """Consumes the bytes from `start` that belong to the head. Returns their end, and the head
        once it is complete. Raises MalformedRequest at the first invalid line.
        """

@final
class ChunkReader:
    """Incremental decoder of a chunked body, `done` at its end. Chunk extensions and trailers are
    limited to 8 KiB and ignored (RFC 9112, 7.1).
    """

    done: bool

    def take(self, data: bytes, start: int, /) -> tuple[int, bytes]:
        """Consumes the bytes from `start` that belong to the body. Returns their end and their
        content. Raises MalformedRequest for malformed chunks.
        """

def whole_answer(
    status_line: bytes,
    headers: list[tuple[bytes, bytes]],
    more_headers: list[tuple[str, str]],
    body: bytes,
) -> bytes | None:
    """Returns the bytes of a response, with names in lower case and text as in `joined_headers`;
    None if a header contains a line end.
    """
