"""Files of tables and garbage collection beside a server: pyiceberg and DuckDB read every commit
before and after.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from pyiceberg.exceptions import RESTError
from support.session.forked_python import forked_python

import anabranch
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.sweeping.restore import Restorer
from anabranch.testing.server import running_server

from .conftest import Lake, ids, trips

DAY = 86_400
TRIPS = "city.trips"


class Collected(Lake):
    """A repository of a server, and a collector over the stores of that server."""

    def __init__(self, server, folder):
        super().__init__(server)
        self.folder = folder
        # operations that can be undone keep their commits: here, history alone decides
        days = self.api.put(f"{self.root}/settings/undo_days", json={"undo_days": 0})
        assert days.status_code == 200, days.text

    def age(self, lake, days=30):
        """Makes all that is stored look older than it is."""
        then = time.time() - days * DAY
        for block in lake.blocks.list(f"local://{self.name}/"):
            os.utime(lake.blocks.local_path(block.address), (then, then))

    def files(self):
        """The files of tables, and their bytes."""
        with anabranch.open(self.folder) as lake:
            found = lake.blocks.list(f"local://{self.name}/tables/")
            return {block.address.partition("/tables/")[2]: block.size for block in found}

    def collect(self, *, sweep=True, retention=None, age=True, **options):
        """Collects garbage, with no window; returns the summary."""
        with anabranch.open(self.folder) as lake:
            if retention is not None:
                lake.garbage_rules.set(self.name, RetentionRules(retention, {"main": retention}))
            if age:
                self.age(lake)
            collector = Collector(lake.core, lake.blocks, self.folder / "marks", clock=time.time)
            options = {"window_seconds": -60, **options}
            with collector.mark(self.name, **options) as run:
                return run.sweep() if sweep else run.summary

    def commits(self, reference="main"):
        log = self.api.get(f"{self.root}/refs/{reference}/commits?amount=1000").json()["results"]
        return [commit["id"] for commit in log]

    def rows(self, reference, name=TRIPS):
        """The ids of the rows of all snapshots of a table at a reference, as pyiceberg reads them;
        None without the table.
        """
        catalog = self.catalog(reference)
        if not catalog.table_exists(name):
            return None
        table = catalog.load_table(name)
        snapshots = [each.snapshot_id for each in table.metadata.snapshots]
        read = {
            number: sorted(table.scan(snapshot_id=number).to_arrow()["id"].to_pylist())
            for number in snapshots
        }
        return ids(table), read


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("garbage")
    with running_server(folder) as server:
        yield server, folder


@pytest.fixture
def lake(place):
    return Collected(*place)


def expire(table, keep=1):
    """Removes all snapshots but the last ones."""
    doomed = [each.snapshot_id for each in table.metadata.snapshots][:-keep]
    with table.maintenance.expire_snapshots().by_ids(doomed) as expiry:
        assert expiry is not None


def test_every_commit_is_read_after_a_collection_as_before(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    for number in range(3):
        table.append(trips(number))
    dev = lake.branch("dev").load_table(TRIPS)
    dev.append(trips(10))
    dev.delete("id = 1")
    lake.tag("v1", "main~2")
    table.overwrite(trips(20))
    before = {each: lake.rows(each) for each in [*lake.commits(), *lake.commits("dev"), "v1"]}
    files = lake.files()
    summary = lake.collect()
    assert summary.tables.collected
    assert summary.swept.objects == 0 == summary.tables.dead.objects  # no rules: all is live
    assert summary.tables.files.objects == len(files) - 1  # without the record of the area
    assert lake.files() == files
    after = {each: lake.rows(each) for each in before}
    assert after == before


def test_what_expired_snapshots_alone_need_is_removed_with_their_commits(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    for number in range(5):
        table.append(trips(number))
    table.overwrite(trips(7))
    expire(table)
    before = lake.files()
    summary = lake.collect()
    assert summary.swept.objects == 0  # the commits before are live
    summary = lake.collect(retention=-1)
    assert summary.swept.objects > 5
    assert summary.tables.dead.objects
    after = lake.files()
    assert sum(after.values()) < sum(before.values())
    gone = [name for name in before if name not in after]
    assert sum(name.endswith(".parquet") for name in gone) == 5
    assert lake.rows("main") == ([7], {table.metadata.snapshots[-1].snapshot_id: [7]})
    table = main.load_table(TRIPS)
    table.append(trips(8))
    assert ids(main.load_table(TRIPS)) == [7, 8]


def test_files_that_a_tag_or_another_branch_needs_stay(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    table.append(trips(1))
    lake.tag("v1")
    lake.branch("dev").load_table(TRIPS).append(trips(2))
    table.overwrite(trips(3))
    expire(table)
    main.drop_table(TRIPS)
    kept = {each: lake.rows(each) for each in ("v1", "dev")}
    lake.collect(retention=-1)
    assert {each: lake.rows(each) for each in ("v1", "dev")} == kept
    assert lake.catalog("v1").load_table(TRIPS).scan().to_arrow().num_rows == 1


def test_young_files_and_those_of_an_area_that_is_written_to_stay(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    table.append(trips(1))
    main.drop_table(TRIPS)
    before = lake.files()
    assert lake.collect(retention=-1, age=False, grace_seconds=-60).tables.dead.objects == 0
    assert lake.files() == before
    summary = lake.collect(retention=-1, age=False, grace_seconds=-60, tables_seconds=-60)
    assert summary.swept.objects >= len(before) - 1
    assert len(lake.files()) == 1  # the record of the area


def test_a_commit_to_a_table_whose_files_were_collected_is_refused(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    table.append(trips(1))
    metadata = table.metadata_location
    main.drop_table(TRIPS)
    other = main.create_table("city.other", trips().schema)
    lake.collect(retention=-1)
    with pytest.raises(Exception, match=r"there is no|missing|removed"):
        main.register_table(TRIPS, metadata)
    other.append(trips(2))
    assert ids(main.load_table("city.other")) == [2]


def test_a_snapshot_whose_files_were_collected_is_refused_as_a_failed_commit(lake):
    table = lake.catalog().create_table(TRIPS, trips().schema)
    table.append(trips(1))
    table.overwrite(trips(2))
    old = table.metadata.snapshots[0]
    expire(table)
    lake.collect(retention=-1)
    snapshot = {
        **json.loads(old.model_dump_json(by_alias=True)),
        "sequence-number": table.metadata.last_sequence_number + 1,
    }
    body = {
        "requirements": [],
        "updates": [{"action": "add-snapshot", "snapshot": snapshot}],
    }
    refused = lake.post("main", "/namespaces/city/tables/trips", body, status=409).json()["error"]
    assert refused["type"] == "CommitFailedException"
    assert old.manifest_list in refused["message"]
    assert ids(lake.catalog().load_table(TRIPS)) == [2]


@pytest.mark.slow
def test_a_table_that_is_not_understood_is_kept_and_reported(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    table.append(trips(1))
    table.overwrite(trips(2))
    manifest = table.current_snapshot().manifests(table.io)[0].manifest_path
    expire(table)
    other = main.create_table("city.other", trips().schema)
    other.append(trips(1))
    other.overwrite(trips(2))
    expire(other)
    area = table.location().rpartition("/")[2]
    with anabranch.open(lake.folder) as stores:
        path = f"local://{lake.name}/tables/{manifest.partition('/.tables/')[2]}"
        Path(stores.blocks.local_path(path)).write_bytes(b"no Avro")
    before = lake.files()
    summary = lake.collect(retention=-1)
    after = lake.files()
    assert {name for name in before if name.startswith(area)} <= after.keys()
    assert len(after) < len(before)
    (kept,) = summary.tables.kept_areas
    assert kept.area == area
    assert "Avro" in kept.reason


@pytest.mark.slow
def test_duckdb_reads_what_is_left(lake):
    duckdb = pytest.importorskip("duckdb")
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    for number in range(3):
        table.append(trips(number))
    table.overwrite(trips(5, 6))
    expire(table)
    lake.tag("v1", "main~2")
    expected = {"main": [5, 6], "v1": [0, 1, 2]}
    for _ in range(2):
        found = {}
        for reference in expected:
            files = [
                task.file.file_path
                for task in lake.catalog(reference).load_table(TRIPS).scan().plan_files()
            ]
            with anabranch.open(lake.folder) as stores:
                paths = [
                    stores.blocks.local_path(
                        f"local://{lake.name}/tables/{each.partition('/.tables/')[2]}"
                    )
                    for each in files
                ]
                rows = duckdb.sql(f"SELECT id FROM read_parquet({paths!r}) ORDER BY id").fetchall()
            found[reference] = [row[0] for row in rows]
        assert found == expected
        lake.collect(retention=-1)


@pytest.mark.slow
def test_expiry_and_collection_on_the_command_line_free_space(lake):
    table = lake.catalog().create_table(TRIPS, trips().schema)
    for number in range(3):
        table.overwrite(trips(number))
    with anabranch.open(lake.folder) as stores:
        stores.garbage_rules.set(lake.name, RetentionRules(-1, {"main": -1}))
    key, secret = lake.server.auth
    environment = {
        **os.environ,
        "ANABRANCH_SERVER": lake.server.url,
        "ANABRANCH_ACCESS_KEY_ID": key,
        "ANABRANCH_SECRET_ACCESS_KEY": secret,
    }

    def run(*words):
        command = [forked_python(), "-m", "anabranch", *words, "--yes", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    address = f"lakefs://{lake.name}"
    assert run("table", "expire", f"{address}/main/{TRIPS}", "--older-than", "2999-01-01")["left"]
    with anabranch.open(lake.folder) as stores:
        lake.age(stores)
    before = lake.files()
    words = ("gc", address, "--data", str(lake.folder), "--window", "0", "--sweep")
    kept = run(*words, "--tables-grace", "10000")
    assert (kept["tables"]["collected"], kept["tables"]["dead"]["objects"]) == (True, 0)
    assert lake.files() == before
    swept = run(*words)
    freed = sum(before.values()) - sum(lake.files().values())
    assert swept["tables"]["dead"]["bytes"] == freed > 0
    assert swept["swept"]["bytes"] >= freed
    assert sum(name.endswith(".parquet") for name in lake.files()) == 1
    assert ids(lake.catalog().load_table(TRIPS)) == [2]


def test_files_of_tables_are_restored_from_quarantine(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    table.append(trips(1, 2))
    location = table.metadata_location
    main.drop_table(TRIPS)
    before = lake.files()
    summary = lake.collect(retention=-1, quarantine_seconds=7 * DAY)
    assert summary.tables.dead.objects == len(before) - 1
    assert summary.quarantined.objects >= len(before) - 1
    assert len(lake.files()) == 1
    with pytest.raises(RESTError):
        main.register_table(TRIPS, location)
    with anabranch.open(lake.folder) as stores:
        restorer = Restorer(stores.core, stores.blocks, clock=time.time)
        restored = restorer.restore(lake.name, summary.run_id, prefixes=["tables/"])
        assert (restored.restored.objects, restored.failed) == (len(before) - 1, 0)
    assert lake.files() == before
    assert lake.collect().swept.objects == 0  # what was restored is kept for a week
    main.register_table(TRIPS, location)
    assert ids(main.load_table(TRIPS)) == [1, 2]
    lake.collect(retention=-1)
    assert ids(main.load_table(TRIPS)) == [1, 2]


@pytest.mark.slow
def test_tables_are_written_branched_and_merged_after_a_collection(lake):
    main = lake.catalog()
    table = main.create_table(TRIPS, trips().schema)
    for number in range(3):
        table.overwrite(trips(number))
    expire(table)
    assert lake.collect(retention=-1).tables.dead.objects
    dev = lake.branch("dev")
    dev.load_table(TRIPS).append(trips(4))
    main.load_table(TRIPS).append(trips(5))
    main.load_table(TRIPS).delete("id = 2")
    merged = lake.merge("dev")
    assert merged.status_code == 200, merged.text
    assert ids(main.load_table(TRIPS)) == [4, 5]
    staged = main.create_table(
        "city.staged", trips().schema, properties={"anabranch.commit": "staged"}
    )
    staged.append(trips(1))
    staged.append(trips(2))
    main.rename_table("city.trips", "city.rides")
    lake.collect(retention=-1)
    assert ids(main.load_table("city.staged")) == [1, 2]
    assert ids(main.load_table("city.rides")) == [4, 5]
    assert ids(dev.load_table(TRIPS)) == [2, 4]
