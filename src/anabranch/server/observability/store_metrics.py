"""Metrics of the requests to one store on another machine: how many, and how many were repeated."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

__all__ = ["StoreCounters", "StoreMetrics"]


class StoreCounters:
    """The counters of all stores of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "anabranch_store_requests",
            "Requests to a store on another machine, each counted once",
            ["store"],
            registry=registry,
        )
        self._retries = Counter(
            "anabranch_store_retries",
            "Requests to a store on another machine that were sent once more",
            ["store", "reason"],
            registry=registry,
        )

    def of(self, store: str) -> StoreMetrics:
        """Returns the observer of a store."""
        return StoreMetrics(store, self._requests, self._retries)


class StoreMetrics:
    """A `StoreObserver` that counts in metrics."""

    def __init__(self, store: str, requests: Counter, retries: Counter) -> None:
        self._store = store
        self._requests = requests.labels(store)
        self._retries = retries

    def sent(self) -> None:
        """Counts a request."""
        self._requests.inc()

    def repeated(self, reason: str) -> None:
        """Counts that a request is sent once more."""
        self._retries.labels(self._store, reason).inc()
