"""What the metrics of a running server say, in words: errors, refusals, delays, open files.

The counts are those since the server's processes began.
"""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Iterator, Sequence

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from anabranch.server.config.settings import Address
from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_running_server"]

ABOUT = "server"

_SECONDS = 5.0
_MAX_METRICS_BYTES = 16 << 20
_EVERY_INTERFACE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  to connect
_FAILED_SHARE = 0.001
_SLOW_SHARE = 0.01
_SLOW_SECONDS = "10.0"
_FILES_SHARE = 0.8
_RETRIED_SHARE = 0.01
_LEAST_RETRIES = 10
_RETRY_HINTS = {
    "unreachable": "Look at the network between the server and the store.",
    "throttled": "The store allows fewer requests: spread them over more prefixes or buckets.",
    "failed": "The store itself fails; its own log or status page has the cause.",
    "connection_lost": "Look whether PostgreSQL restarts, or a proxy before it ends connections.",
    "conflict": "Transactions stand in each other's way: see PostgreSQL's log for deadlocks.",
}
_DURATIONS = ("api_request_duration_seconds", "gateway_request_duration_seconds")


def check_running_server(address: Address) -> list[CheckResult] | None:
    """Returns what the metrics of the server at an address say; None if no server of Anabranch
    answers there.
    """
    try:
        if _get(address, "/_health") != b"alive!":
            return None
        text = _get(address, "/metrics").decode()
        families = list(text_string_to_metric_families(text))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    if not any(family.name.startswith("anabranch_") for family in families):
        return None
    findings = list(_findings([sample for family in families for sample in family.samples]))
    if findings:
        return findings
    message = f"one answers at {address}, and its metrics show no trouble"
    return [CheckResult(ABOUT, State.SOUND, message)]


def _get(address: Address, path: str) -> bytes:
    host = _EVERY_INTERFACE.get(address.host, address.host)
    connection = http.client.HTTPConnection(host, address.port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().read(_MAX_METRICS_BYTES)
    finally:
        connection.close()


def _findings(samples: Sequence[Sample]) -> Iterator[CheckResult]:
    yield from _failed_requests(samples)
    yield from _slow_requests(samples)
    yield from _refusals(samples)
    yield from _retries(samples)
    yield from _open_files(samples)


def _failed_requests(samples: Sequence[Sample]) -> Iterator[CheckResult]:
    failed: Counter[str] = Counter()
    total = 0.0
    for sample in _of(samples, *(f"{name}_count" for name in _DURATIONS)):
        total += sample.value
        if sample.labels["code"].startswith("5"):
            failed[f"{sample.labels['operation']} ({sample.labels['code']})"] += int(sample.value)
    count = failed.total()
    if count > total * _FAILED_SHARE:
        most = ", ".join(f"{name}: {number}" for name, number in failed.most_common(3))
        message = f"{count} of {total:.0f} requests failed; {most}"
        hint = "The server's log has the cause of each, with its request id."
        yield CheckResult(ABOUT, State.DOUBTFUL, message, hint)


def _slow_requests(samples: Sequence[Sample]) -> Iterator[CheckResult]:
    """Finds requests that took more than ten seconds, which are in no bucket up to that."""
    slow: Counter[str] = Counter()
    total = 0.0
    for sample in _of(samples, *(f"{name}_bucket" for name in _DURATIONS)):
        if sample.labels["le"] == "+Inf":
            total += sample.value
            slow[sample.labels["operation"]] += int(sample.value)
        elif sample.labels["le"] == _SLOW_SECONDS:
            slow[sample.labels["operation"]] -= int(sample.value)
    count = slow.total()
    if count > total * _SLOW_SHARE:
        most = ", ".join(f"{name}: {number}" for name, number in slow.most_common(3))
        message = f"{count} of {total:.0f} requests took more than 10 seconds; {most}"
        hint = "Compare the database's and the store's latency, and the CPU of the processes."
        yield CheckResult(ABOUT, State.DOUBTFUL, message, hint)


def _refusals(samples: Sequence[Sample]) -> Iterator[CheckResult]:
    for sample in _of(samples, "anabranch_calls_refused_total"):
        if sample.value:
            pool = sample.labels["pool"]
            message = f"{sample.value:.0f} requests were refused: too many waited (pool {pool})"
            hint = "Add servers or workers; http.call_threads and http.transfer_threads limit each."
            yield CheckResult(ABOUT, State.DOUBTFUL, message, hint)
    for sample in _of(samples, "anabranch_calls_waiting"):
        if sample.value:
            pool = sample.labels["pool"]
            message = f"{sample.value:.0f} requests wait for a thread (pool {pool})"
            hint = "If that lasts, add servers or workers."
            yield CheckResult(ABOUT, State.DOUBTFUL, message, hint)
    hints = {
        "address_limit": "If it is a proxy, add it to http.trusted_proxies.",
        "connection_limit": "Raise the limit on open files (ulimit -n), or http.max_connections.",
    }
    for sample in _of(samples, "anabranch_connections_ended_total"):
        reason = sample.labels["reason"]
        if sample.value and reason in hints:
            message = f"{sample.value:.0f} connections were refused ({reason})"
            yield CheckResult(ABOUT, State.DOUBTFUL, message, hints[reason])


def _retries(samples: Sequence[Sample]) -> Iterator[CheckResult]:
    requests = {
        sample.labels["store"]: sample.value
        for sample in _of(samples, "anabranch_store_requests_total")
    }
    for store, total in requests.items():
        reasons: Counter[str] = Counter()
        for sample in _of(samples, "anabranch_store_retries_total"):
            if sample.labels["store"] == store and sample.value:
                reasons[sample.labels["reason"]] += int(sample.value)
        count = reasons.total()
        if count > max(_LEAST_RETRIES, total * _RETRIED_SHARE):
            most = ", ".join(f"{name}: {number}" for name, number in reasons.most_common(3))
            message = f"{count} retries of {total:.0f} requests to {store}; {most}"
            hint = _RETRY_HINTS[reasons.most_common(1)[0][0]]
            yield CheckResult(ABOUT, State.DOUBTFUL, message, hint)


def _open_files(samples: Sequence[Sample]) -> Iterator[CheckResult]:
    used = sum(sample.value for sample in _of(samples, "process_open_fds"))
    allowed = sum(sample.value for sample in _of(samples, "process_max_fds"))
    if allowed and used > allowed * _FILES_SHARE:
        message = f"the process has {used:.0f} of at most {allowed:.0f} files open"
        yield CheckResult(ABOUT, State.DOUBTFUL, message, "Raise the limit (ulimit -n).")


def _of(samples: Sequence[Sample], *names: str) -> Iterator[Sample]:
    return (sample for sample in samples if sample.name in names)
