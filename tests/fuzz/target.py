"""A target of the fuzzer: a reader, seeds, and the oracle that says what is right.

An oracle is called with an input and raises for a fault: an `AssertionError`, or whatever escapes
from the reader. `refusal` is what a reader may raise instead of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from fuzz.shapes import Shape

from anabranch.errors import AnabranchError, Corrupt
from anabranch.rest.protocol.errors import error_response
from anabranch.s3.protocol.errors import CODES, S3Error

__all__ = ["SEEDS", "Refused", "Target", "kept_seeds", "outcome", "refusals"]

SEEDS = Path(__file__).parent / "seeds"

T = TypeVar("T")

_SERVER_STATUS = 500


class Target(NamedTuple):
    """A reader to be fuzzed. `check` is the oracle; `seeds` returns inputs of our own writers,
    beside those in the folder of this name; `tokens` are words of the format. `inputs` is how many
    `make test-all` tries, in half a second; `make test` tries half of them.
    """

    name: str
    check: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]] = tuple
    tokens: Sequence[bytes] = ()
    shape: Shape | None = None
    inputs: int = 200

    def all_seeds(self) -> list[bytes]:
        """Returns the seeds, the kept ones included."""
        return [*self.seeds(), *(path.read_bytes() for path in kept_seeds(self.name))]


class Refused(NamedTuple):
    """That a reader refused its input, with the kind of its error."""

    kind: str


def kept_seeds(name: str) -> list[Path]:
    """Returns the files of the seeds that are kept for a target."""
    return sorted((SEEDS / name).glob("*"))


def outcome(read: Callable[..., T], *arguments: object) -> T | Refused:
    """Returns what a reader returns, or that it refused the input, as it may."""
    try:
        return read(*arguments)
    except AnabranchError as error:
        _require_refusal(error)
        code = getattr(error, "code", "")
        return Refused(code or error.kind)


@contextmanager
def refusals() -> Iterator[None]:
    """Passes over errors with which a reader may refuse its input."""
    try:
        yield
    except AnabranchError as error:
        _require_refusal(error)


def _require_refusal(error: AnabranchError) -> None:
    """Raises AssertionError for an error that blames the server, unless it means damage."""
    if isinstance(error, S3Error):
        assert CODES[error.code].status < _SERVER_STATUS, f"{error.code} for an input"
        return
    response = error_response(error)
    assert isinstance(error, Corrupt) or response.status < _SERVER_STATUS, f"{error!r}"
