"""Addresses that continue what was typed, asked from the server: repositories, references, paths.

The shell waits for it, so it takes at most one second, or the number of seconds in
ANABRANCH_COMPLETION_TIMEOUT, and whatever fails completes nothing: neither a server that is
away nor settings that are wrong may write into a command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.client.rest_client import RestClient

__all__ = ["OBJECT", "REFERENCE", "REPOSITORY", "SCHEME", "complete_address", "complete_reference"]

SCHEME = "lakefs://"
REPOSITORY, REFERENCE, OBJECT = 1, 2, 3
"""How much of an address is expected: its parts up to this one."""

_TIME_LIMIT = 1.0
_AMOUNT = 200


def complete_address(
    begun: str,
    depth: int,
    environment: Mapping[str, str],
    *,
    server: str | None = None,
    config: str | None = None,
) -> list[str]:
    """Returns addresses that begin with `begun`. One that ends with a slash continues."""
    if not begun.startswith(SCHEME):
        begun = SCHEME if SCHEME.startswith(begun) else begun
    if not begun.startswith(SCHEME):
        return []
    found: list[str] = []
    limit = _time_limit(environment)

    def ask() -> None:
        try:
            client = _client(environment, server, config, limit)
            found.extend(list(_addresses(client, begun.removeprefix(SCHEME), depth)))
        except Exception:  # noqa: BLE001, S110  an error has no place in a line that is being typed
            pass

    # a name that does not resolve, or a proxy, may take longer than a request's own limits
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(limit)
    return [] if thread.is_alive() else [f"{SCHEME}{each}" for each in found]


def complete_reference(
    begun: str,
    beside: str,
    environment: Mapping[str, str],
    *,
    server: str | None = None,
    config: str | None = None,
) -> list[str]:
    """Returns names of references of the repository that the address `beside` names."""
    repository = beside.removeprefix(SCHEME).partition("/")[0]
    start = f"{SCHEME}{repository}/"
    whole = complete_address(start + begun, REFERENCE, environment, server=server, config=config)
    return [each.removeprefix(start) for each in whole]


def _time_limit(environment: Mapping[str, str]) -> float:
    try:
        return float(environment.get("ANABRANCH_COMPLETION_TIMEOUT") or _TIME_LIMIT)
    except ValueError:
        return _TIME_LIMIT


def _client(
    environment: Mapping[str, str], server: str | None, config: str | None, limit: float
) -> RestClient:
    from anabranch.cli.client.settings import resolve  # noqa: PLC0415  only to complete addresses
    from anabranch.client.rest_client import (  # noqa: PLC0415  slow to import
        RestClient,
        Timeouts,
    )
    from anabranch.client.retry_policy import NO_RETRIES  # noqa: PLC0415

    settings = resolve(environment, server=server, config=config)
    return RestClient(
        settings.server,
        settings.authorization,
        environment=environment,
        timeouts=Timeouts(limit, limit, limit),
        retries=NO_RETRIES,
    )


def _addresses(client: RestClient, begun: str, depth: int) -> Iterator[str]:
    repository, has_repository, rest = begun.partition("/")
    if not has_repository:
        end = "" if depth == REPOSITORY else "/"
        names = client.pages("repositories", amount=_AMOUNT, prefix=repository)
        yield from (f"{each['id']}{end}" for each in names)
        return
    if depth == REPOSITORY:
        return
    reference, has_reference, path = rest.partition("/")
    base = ("repositories", repository)
    if not has_reference:
        end = "" if depth == REFERENCE else "/"
        for kind in ("branches", "tags"):
            names = client.pages(*base, kind, amount=_AMOUNT, prefix=reference)
            yield from (f"{repository}/{each['id']}{end}" for each in names)
        return
    if depth == OBJECT:
        folder = path[: path.rfind("/") + 1]
        listed = client.pages(
            *(*base, "refs", reference, "objects", "ls"),
            amount=_AMOUNT,
            prefix=path,
            delimiter="/",
        )
        for each in listed:
            # a line break would be two candidates, and shells write what they complete to terminals
            if each["path"] != folder and each["path"].isprintable():
                yield f"{repository}/{reference}/{each['path']}"
