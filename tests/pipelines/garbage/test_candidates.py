"""Candidates: the format of generated addresses, and the time in them."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses.candidates import candidates, earlier_candidates
from anabranch.versioning.identifiers import Identifiers

GENERATED = re.compile(r"data/[0-9a-v]{20}/[0-9a-v]{20}(,[A-Za-z0-9_-]{43})?")
XIDS = st.text("0123456789abcdefghijklmnopqrstuv", min_size=20, max_size=20)
ADDRESSES = st.one_of(
    st.builds("data/{}/{}".format, XIDS, XIDS),
    st.builds("data/{}/{},{}".format, XIDS, XIDS, st.just("aZ09_-" * 7 + "x")),
    st.builds("data/{}/{},{}".format, XIDS, XIDS, st.text("a,/=", min_size=43, max_size=43)),
    st.builds("data/{}/{}".format, st.text("aw/", min_size=20, max_size=20), XIDS),
    st.builds("{}/{}".format, st.text("ab/", min_size=25, max_size=25), XIDS),
    st.text(max_size=50),
)


def select(addresses, before):
    column = pa.array(addresses, pa.string())
    zeros = pa.array(np.zeros(len(addresses), np.int64))
    batch = pa.RecordBatch.from_arrays(
        [column, zeros, zeros, pa.array(hash_addresses(column), pa.uint64())],
        names=["address", "size", "mtime", "hash"],
    )
    (selected,) = candidates([batch], earlier_candidates([]), before=before, now=1)
    return selected.column("address").to_pylist()


@given(st.lists(ADDRESSES, max_size=30))
@example(["data/" + "0" * 20 + "/" + "\N{LATIN SMALL LETTER A WITH DIAERESIS}" * 10])
def test_creation_times_accept_exactly_generated_addresses(addresses):
    assert select(addresses, 2**33) == [name for name in addresses if GENERATED.fullmatch(name)]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20), st.integers(0, 2**32))
def test_candidates_have_generated_times_before_the_limit(times, before):
    created = {f"data/{'0' * 20}/{Identifiers(lambda: time).xid()}": time for time in times}  # noqa: B023
    expected = [name for name, time in created.items() if time < before]
    assert select(list(created), before) == expected
