"""A tallied histogram, beside the one of prometheus_client."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from anabranch.server.observability.tallied_histogram import TalliedHistogram

BUCKETS = (0.001, 0.5, 1, 30)
AMOUNTS = st.one_of(st.sampled_from((0, 0.001, 0.5, 1, 30, 31)), st.floats(0, 60))


def text(kind, observed):
    registry = CollectorRegistry()
    histogram = kind("took", "Seconds", ["operation", "code"], buckets=BUCKETS, registry=registry)
    for labels, amount in observed:
        histogram.labels(*labels).observe(amount)
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]


@given(st.lists(st.tuples(st.sampled_from((("a", "200"), ('"\\', "404"))), AMOUNTS), max_size=9))
def test_it_is_written_as_that_of_prometheus_is(observed):
    assert text(TalliedHistogram, observed) == text(Histogram, observed)
