"""Values of Delta partitions, which are texts in the log, of years of any number of digits."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.formats.folder_objects import FolderObjects, live_rows

from anabranch.tables.delta.snapshot import read_delta_table
from anabranch.tables.live_rows.addresses import TablePlace

DAY_MICROSECONDS = 86_400 * 10**6
DAYS = [-1_000_000, -719_163, -719_162, -141_427, 0, 2_932_896, 2_932_897, 5_000_000]
"""Days since 1970: of the years -768, 0, 1, 1582, 1970, 9999, 10000 and 15659."""


def days():
    return pa.array(DAYS, pa.int32()).view(pa.date32())


def moments(zone):
    counts = [day * DAY_MICROSECONDS + part for day in DAYS for part in (0, 1, -1, 3_723_000_000)]
    return pa.array(counts, pa.int64()).view(pa.timestamp("us", zone))


@pytest.mark.parametrize(
    "values", [days(), moments(None), moments("UTC")], ids=["date", "timestamp_ntz", "timestamp"]
)
def test_times_of_all_years_are_read(tmp_path, values):
    table = pa.table({"id": range(len(values)), "at": values})
    write_deltalake(tmp_path / "t", table, partition_by=["at"])
    objects = FolderObjects(tmp_path)
    found = live_rows(read_delta_table(objects, TablePlace("sea", "t/")), objects)
    assert found.sort_by("id").cast(table.schema).equals(table)
