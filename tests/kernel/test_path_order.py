"""The order of paths is that of their bytes, equal ones as they came and none last."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel

SHORT = st.text(st.sampled_from("ab\0é\U0010ffff"), max_size=4)
LONG = st.tuples(st.sampled_from(["", "same/folder/of/many/", "same/folder\0"]), SHORT, SHORT)
PATHS = st.lists(st.none() | SHORT | LONG.map("12345678".join), max_size=200)


@given(
    PATHS, st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]), st.integers(1, 9)
)
def test_it_is_that_of_sorted(paths, kind, batch):
    table = pa.table({"path": pa.array(paths, kind)})
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(batch))
    order = np.frombuffer(_kernel.path_order(stream), np.uint32).tolist()
    expected = sorted(
        range(len(paths)), key=lambda row: (paths[row] is None, (paths[row] or "").encode(), row)
    )
    assert order == expected


def test_other_columns_are_refused():
    with pytest.raises(_kernel.KernelError, match="path"):
        _kernel.path_order(pa.table({"paths": ["a"]}))
    with pytest.raises(_kernel.KernelError, match="text"):
        _kernel.path_order(pa.table({"path": [1]}))
