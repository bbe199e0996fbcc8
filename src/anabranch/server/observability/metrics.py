"""Prometheus metrics of a server's requests, with lakeFS's metric names.

A single process keeps its metrics in memory. Several worker processes write them to files in a
shared folder, and the process that serves `/metrics` aggregates the files. prometheus_client
selects this mode at import time, by the environment variable that `shared_among_processes` sets.
"""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.process_collector import ProcessCollector

from anabranch.files.work_folders import WorkFolder, hold
from anabranch.server.observability.count_log import CountLog
from anabranch.server.observability.store_metrics import StoreCounters
from anabranch.server.observability.tallied_histogram import TalliedHistogram

__all__ = [
    "CONTENT_TYPE",
    "Metrics",
    "Service",
    "forget_process",
    "join_shared",
    "shared_among_processes",
]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Service = Literal["api", "gateway"]

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_API, _GATEWAY = "api_request_duration_seconds", "gateway_request_duration_seconds"
_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

Observe = Callable[[float], None]


class HookQueue(Protocol):
    """The queue of hooks, which all servers and processes share."""

    @property
    def waiting_events(self) -> int:
        """How many events wait for their hooks to be run."""


class Metrics:
    """Metrics of one process. `methods` maps each operation of the API to its HTTP method."""

    hooks: HookQueue | None = None
    """The queue of hooks, once there is one."""

    def __init__(self, methods: Mapping[str, str]) -> None:
        self._methods = methods
        self._registry = CollectorRegistry()
        self.stores = StoreCounters(self._registry)
        """Counts of requests to stores on other machines."""
        self._durations: dict[Service, Histogram | TalliedHistogram] = {
            "api": self._histogram(_API, "Seconds that requests of the API took"),
            "gateway": self._histogram(_GATEWAY, "Seconds that requests of S3 took"),
        }
        self._observers: dict[tuple[Service, str, int], Observe] = {}
        self._running = Gauge(
            "lakefs_concurrent_requests",
            "Requests under way, those executed inline or batched left out",
            ["service", "operation"],
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._connections = Counter(
            "anabranch_connections_ended",
            "Connections refused, or closed for their limits",
            ["reason"],
            registry=self._registry,
        )
        self._calls_waiting = Gauge(
            "anabranch_calls_waiting",
            "Requests that wait for a thread",
            ["pool"],
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._calls_refused = Counter(
            "anabranch_calls_refused",
            "Requests refused since too many waited",
            ["pool"],
            registry=self._registry,
        )
        self._refusals = CountLog("requests refused since too many wait for a thread, by pool")
        self.logs = (self._refusals,)
        """Counts that are to be logged regularly."""
        ProcessCollector(registry=self._registry)

    def completed(self, service: Service, operation: str, status: int, took: float) -> None:
        """Records a request that took so many seconds; called by the event loop alone."""
        key = service, operation, status
        observe = self._observers.get(key)
        if observe is None:
            observe = self._durations[service].labels(operation, str(status)).observe
            self._observers[key] = observe
        observe(took)

    @contextmanager
    def running(self, service: Service, operation: str) -> Iterator[None]:
        """Counts a request as running within the context."""
        gauge = self._running.labels(service, operation)
        gauge.inc()
        try:
            yield
        finally:
            gauge.dec()

    def connection_ended(self, reason: str) -> None:
        """Counts a connection that was refused, or closed for its limits."""
        self._connections.labels(reason).inc()

    def call_refused(self, pool: str) -> None:
        """Counts a request that was refused since too many waited for a thread."""
        self._calls_refused.labels(pool).inc()
        self._refusals.note(pool)

    def calls_waiting(self, pool: str, count: int) -> None:
        """Receives how many requests wait for a thread of a pool."""
        self._calls_waiting.labels(pool).set(count)

    def text(self) -> bytes:
        """Returns the metrics of all processes in Prometheus's text format."""
        return generate_latest(self)

    def collect(self) -> Iterable[Metric]:
        """Yields the metrics, including those that are derived from others."""
        registry = self._registry
        if _FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        for family in registry.collect():
            yield family
            if family.name == _API:
                yield self._totals(family)
        if self.hooks is not None:
            yield GaugeMetricFamily(
                "anabranch_hook_events_waiting",
                "Events after changes whose hooks wait to be run, of all servers",
                value=self.hooks.waiting_events,
            )

    def _totals(self, durations: Metric) -> Metric:
        tally: Tally[tuple[str, str]] = Tally()
        for sample in durations.samples:
            if sample.name.endswith("_count"):
                labels = sample.labels
                tally[labels["code"], self._methods[labels["operation"]]] += int(sample.value)
        family = CounterMetricFamily(
            "api_requests", "Requests of the API", labels=["code", "method"]
        )
        for labels_of, count in sorted(tally.items()):
            family.add_metric(labels_of, count)
        return family

    def _histogram(self, name: str, meaning: str) -> Histogram | TalliedHistogram:
        kind = Histogram if _FOLDER in os.environ else TalliedHistogram
        labels = ["operation", "code"]
        return kind(name, meaning, labels, buckets=_BUCKETS, registry=self._registry)


@contextmanager
def shared_among_processes() -> Iterator[None]:
    """Makes processes that are started within the context share their metrics."""
    with WorkFolder("metrics") as folder:
        os.environ[_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[_FOLDER]


def join_shared() -> None:
    """Keeps the folder of shared metrics for this process, even if its creator is killed."""
    hold(os.environ[_FOLDER])


def forget_process(pid: int) -> None:
    """Removes the gauges of a process that has exited."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]
