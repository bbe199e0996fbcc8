"""Ranges that several tasks wrote become those of a single writer."""

from __future__ import annotations

import itertools
import random
import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch import _kernel as kernel
from anabranch.spark.jobs.boundary_tasks import rewrite_run
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.planning.range_boundaries import join_ranges
from anabranch.spark.sources.table_files import FolderTables

ENDS = [
    f"p{name}".encode()
    for name in (
        *("009/f00102", "052/f00278", "102/f00258", "103/f00635"),
        *("114/f00323", "132/f00107", "135/f00519"),
    )
]
KEYS = sorted([*ENDS, *(b"p%03d/f%05d" % (n, n * 7) for n in range(150))])

SMALL = (b"i" * 32, b"small")
# incompressible, and so large that five of them fill a range
LARGE = (b"i" * 32, random.Random(0).randbytes(4 << 20))


def test_ends_range_agrees_with_lakefs():
    assert [key for key in KEYS if kernel.ends_range(key)] == ENDS


@settings(max_examples=examples(60))
@given(
    chosen=st.sets(st.sampled_from(KEYS), min_size=1).map(sorted),
    large=st.sets(st.integers(0, len(KEYS)), max_size=30),
    cuts=st.lists(st.integers(0, len(KEYS)), max_size=8),
)
def test_joined_ranges_equal_those_of_a_single_writer(chosen, large, cuts):
    records = [(key, LARGE if number in large else SMALL) for number, key in enumerate(chosen)]
    boundaries = [0, *sorted(cut for cut in cuts if cut <= len(records)), len(records)]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        tasks = []
        for start, end in itertools.pairwise(boundaries):
            written = kernel.write_tree(records[start:end], folder)
            tree = kernel.Tables().tree(written.metarange_id, lambda name: f"{folder}/{name}")
            tasks.append(
                [
                    Range(each.id, each.min_key, each.max_key, each.count, each.estimated_size)
                    for each in tree.ranges()
                ]
            )
        files = FolderTables(folder)
        ranges = join_ranges(tasks, lambda runs: [rewrite_run(files, run) for run in runs])
        metarange = kernel.write_metarange([kernel.RangeInfo(*each) for each in ranges], folder)
        assert metarange == kernel.write_tree(records, other).metarange_id
