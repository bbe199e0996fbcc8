"""Jobs on Spark pin the commits that they read, so that sweeps keep their objects."""

from __future__ import annotations

import gc
import threading
import time
import uuid
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.eventually import eventually
from support.garbage import put

import anabranch
import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Conflict
from anabranch.keyvalue.contract import Write
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.jobs.leases import Lease, hold_lease
from anabranch.spark.sources import commit_pins
from anabranch.spark.sources.commit_sources import open_references
from anabranch.spark.sources.server_pins import ServerPin
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)

NOW = {"grace_seconds": -5, "window_seconds": -5}
LONG_AGO = 1_600_000_000
PATHS = ("a", "b", "c", "d")
PINS = "anabranch-pins"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("served") / "data"


@pytest.fixture(scope="module")
def served(data):
    with running_server(data) as server:
        yield anabranch.spark.Server(server.url, *server.auth)


@pytest.fixture(params=[pytest.param("lake", marks=pytest.mark.slow), "server"])
def scenario(request, data, served, tmp_path):
    """A repository of a lake, or of a server whose lake is also open in this process."""
    with anabranch.open(data if request.param == "server" else tmp_path / "lake") as lake:
        scenario = Scenario(lake, served if request.param == "server" else None, tmp_path)
        yield scenario
        scenario.lose_pins()


class Scenario:
    """A repository whose head has objects. `source` is the lake or the server for Spark."""

    def __init__(self, lake, server, folder):
        self.lake, self.server, self.folder = lake, server, folder
        self.source = server or lake
        self.name = f"sea-{uuid.uuid4().hex[:8]}"
        lake.repositories.create(self.name, f"local://{self.name}")
        lake.garbage_rules.set(self.name, RetentionRules(1))
        for path in PATHS:
            put(lake, path, body=path.encode(), repository=self.name)
        self.head = self.commit(LONG_AGO)
        self.repository = lake.core.repositories.get(self.name)
        self.options = {}
        if server is not None:
            root = lake.blocks.local_path(f"local://{self.name}").rpartition("/")[0]
            self.options = {"store": partial(LocalBlocks, root)}

    def commit(self, date):
        options = {"message": "m", "committer": "c", "date": date}
        return self.lake.commits.commit(self.name, "main", **options).id

    def expire_head(self):
        """Replaces the head by a commit without its objects, with an old date."""
        for path in PATHS:
            self.lake.objects.delete(self.name, "main", path)
        put(self.lake, "other", repository=self.name)
        self.commit(LONG_AGO + 1)

    def sweep(self):
        """Sweeps all dead objects and returns their number."""
        folder = self.folder / "gc"
        collector = Collector(self.lake.core, self.lake.blocks, folder, clock=time.time)
        with collector.mark(self.name, **NOW) as run:
            return run.sweep().swept.objects

    @property
    def pinned(self):
        return self.lake.core.pins.commits(self.repository)

    def lose_pins(self):
        """Removes all pins, as a collector does when they have expired."""
        for key, _ in list(self.lake.keyvalue.scan(PINS)):
            self.lake.keyvalue.apply([Write(PINS, key, None)])

    def export(self, spark, callback):
        """Exports the head, and calls `callback` when the export has begun."""
        pending = iter([callback])

        def clock():
            next(pending, lambda: None)()
            return time.time()

        return anabranch.spark.export(
            *(spark, self.source, self.name, self.head, str(self.folder / "out")),
            clock=clock,
            **self.options,
        )


@pytest.mark.sample(1)
@pytest.mark.slow  # a session's pins are tested above
def test_export_pins_its_commit(spark, scenario):
    def during_export():
        assert scenario.pinned == {scenario.head}
        scenario.expire_head()
        assert scenario.sweep() == 0

    assert scenario.export(spark, during_export).stored == len(PATHS)
    assert {path: (scenario.folder / "out" / path).read_text() for path in PATHS} == dict(
        zip(PATHS, PATHS, strict=True)
    )
    assert scenario.pinned == set()
    assert scenario.sweep() == len(PATHS)


@pytest.mark.slow  # of an expired commit, above
def test_export_that_lost_its_pin_raises_conflict(spark, scenario):
    def during_export():
        scenario.expire_head()
        scenario.lose_pins()
        assert scenario.sweep() == len(PATHS)

    with pytest.raises(Conflict) as lost:
        scenario.export(spark, during_export)
    assert lost.value.kind == "pin_lost"
    assert lost.value.hint
    assert scenario.pinned == set()


def test_export_of_an_expired_commit_is_refused_during_a_sweep(spark, scenario):
    scenario.expire_head()
    sweep = uuid.uuid4().hex[:20]
    scenario.lake.core.sweeps.begin(sweep)
    try:
        with pytest.raises(Conflict) as refused:
            scenario.export(spark, lambda: None)
    finally:
        scenario.lake.core.sweeps.end(sweep)
    assert refused.value.kind == "commit_expired"
    assert refused.value.hint
    assert scenario.export(spark, lambda: None).stored == len(PATHS)


def objects(spark, scenario, reference):
    """Returns a DataFrame derived from one that is no longer referenced."""
    original = anabranch.spark.objects(spark, scenario.source, scenario.name, reference)
    return original.select("path", "physical_address").where("path <> ''")


def readable(scenario, frame):
    """Returns whether all objects of a DataFrame can be read."""
    addresses = [row.physical_address for row in frame.collect()]
    assert len(addresses) == len(PATHS)
    return all(scenario.lake.blocks.stat(address) is not None for address in addresses)


@pytest.mark.sample(1)
@pytest.mark.slow  # of an import, above
def test_objects_of_a_dataframe_are_kept_by_a_sweep(spark, scenario):
    frame = objects(spark, scenario, "main")
    gc.collect()
    scenario.expire_head()
    assert scenario.sweep() == 0
    assert readable(scenario, frame)
    assert scenario.pinned == {scenario.head}
    changes = anabranch.spark.changes(spark, scenario.source, scenario.name, scenario.head, "main")
    objects(spark, scenario, scenario.head)
    newest = scenario.lake.branches.get(scenario.name, "main").commit_id
    assert scenario.pinned == {scenario.head, newest}
    assert len(list(scenario.lake.keyvalue.scan(PINS))) == 1
    assert changes.count() == len(PATHS) + 1


def test_reading_a_dataframe_again_does_not_change_the_pin(spark, scenario):
    frame = objects(spark, scenario, "main")
    (before,) = scenario.lake.keyvalue.scan(PINS)
    assert frame.count() == frame.count() == len(PATHS)
    objects(spark, scenario, "main")
    assert list(scenario.lake.keyvalue.scan(PINS)) == [before]


def test_dataframe_of_an_expired_commit_during_a_sweep_warns(spark, scenario):
    scenario.expire_head()
    sweep = uuid.uuid4().hex[:20]
    scenario.lake.core.sweeps.begin(sweep)
    try:
        with pytest.warns(UserWarning, match="has expired") as warned:
            frame = anabranch.spark.changes(
                spark, scenario.source, scenario.name, scenario.head, "main"
            )
    finally:
        scenario.lake.core.sweeps.end(sweep)
    assert warned[0].filename == __file__
    assert frame.count() == len(PATHS) + 1
    assert scenario.pinned == {scenario.lake.branches.get(scenario.name, "main").commit_id}


def test_closing_a_lake_releases_its_pins(spark, tmp_path):
    folder = tmp_path / "lake"
    with anabranch.open(folder) as lake:
        scenario = Scenario(lake, None, tmp_path)
        objects(spark, scenario, "main")
        assert scenario.pinned == {scenario.head}
    with anabranch.open(folder) as lake:
        assert list(lake.keyvalue.scan(PINS)) == []


class Session:
    """A session that can be stopped."""

    is_stopped = False


def pin_head(scenario, monkeypatch):
    """Pins the head for a session, with a lease of one second; returns the session."""
    monkeypatch.setattr(commit_pins, "Lease", partial(Lease, seconds=1))
    session = Session()
    references = open_references(scenario.source, scenario.name)
    commit_pins.pin_for_session(
        session, scenario.source, scenario.name, references, [scenario.head]
    )
    assert scenario.pinned == {scenario.head}
    return session


def test_commit_is_pinned_until_the_session_is_stopped(scenario, monkeypatch):
    session = pin_head(scenario, monkeypatch)
    (before,) = scenario.lake.keyvalue.scan(PINS)
    eventually(lambda: list(scenario.lake.keyvalue.scan(PINS)) != [before])
    assert scenario.pinned == {scenario.head}
    session.is_stopped = True
    eventually(lambda: not scenario.pinned)
    pin_head(scenario, monkeypatch)


def test_pin_of_a_session_expires(scenario, monkeypatch):
    monkeypatch.setattr(commit_pins, "SESSION_PIN_SECONDS", 0.5)
    pin_head(scenario, monkeypatch)
    eventually(lambda: not scenario.pinned)


@pytest.mark.sample(1)
@pytest.mark.slow  # a session's pins are tested above
def test_query_of_the_format_pins_its_commits(spark, scenario):
    folder = str(scenario.lake.blocks.local_path(f"local://{scenario.name}")).rpartition("/block/")[
        0
    ]
    anabranch.spark.register(spark, scenario.server or folder)
    reader = spark.read.format("anabranch").option("repository", scenario.name)
    frame = reader.option("reference", "main").load()
    assert scenario.pinned == {scenario.head}
    scenario.expire_head()
    assert scenario.sweep() == 0
    assert readable(scenario, frame)
    reader.option("reference", scenario.head).load().count()
    assert len(list(scenario.lake.keyvalue.scan(PINS))) == 1
    reader.options(what="commits", reference="main").load().count()
    assert scenario.pinned == {scenario.head}


class SweepWhenRead(Mapping):
    """Metadata of a commit that run a whole sweep when they are first read."""

    def __init__(self, scenario):
        self._scenario = scenario
        self.swept = None

    def __iter__(self):
        if self.swept is None:
            self.swept = self._scenario.sweep()
        return iter(("by",))

    def __getitem__(self, name):
        return "a test"

    def __len__(self):
        return 1


def import_object(spark, scenario, metadata=None):
    """Imports an object of the head into another repository."""
    address = scenario.lake.objects.stat(scenario.name, scenario.head, "a").physical_address
    listing = spark.createDataFrame(
        [("a", address, 1)], "path STRING, physical_address STRING, size LONG"
    )
    return anabranch.spark.import_listing(
        *(scenario.source, scenario.land, "main", listing), metadata=metadata, **scenario.options
    )


@pytest.mark.sample(1)
@pytest.mark.slow  # one that begins later is, above
def test_import_of_concurrently_swept_objects_is_refused(spark, scenario):
    scenario.land = f"{scenario.name}-land"
    scenario.lake.repositories.create(scenario.land, f"local://{scenario.land}")
    scenario.expire_head()
    metadata = SweepWhenRead(scenario)
    with pytest.raises(Conflict) as refused:
        import_object(spark, scenario, metadata)
    assert metadata.swept == len(PATHS)
    assert refused.value.kind == "swept_meanwhile"
    assert refused.value.hint
    assert scenario.lake.objects.listing(scenario.land, "main", amount=9).items == []
    assert len(scenario.lake.branches.list(scenario.land, amount=9).items) == 1


@pytest.mark.sample(1)
def test_imported_objects_are_kept_by_a_later_sweep(spark, scenario):
    scenario.land = f"{scenario.name}-land"
    scenario.lake.repositories.create(scenario.land, f"local://{scenario.land}")
    scenario.expire_head()
    import_object(spark, scenario)
    assert scenario.sweep() == len(PATHS) - 1
    assert scenario.lake.objects.open(scenario.land, "main", "a").read_bytes() == b"a"


@pytest.mark.sample(1)
def test_import_during_a_sweep_is_refused(spark, scenario):
    scenario.land = f"{scenario.name}-land"
    scenario.lake.repositories.create(scenario.land, f"local://{scenario.land}")
    scenario.expire_head()
    sweep = uuid.uuid4().hex[:20]
    scenario.lake.core.sweeps.begin(sweep)
    try:
        with pytest.raises(Conflict) as refused:
            import_object(spark, scenario)
    finally:
        scenario.lake.core.sweeps.end(sweep)
    assert refused.value.kind == "sweep_under_way"
    assert import_object(spark, scenario).objects == 1


class WithoutPins(BaseHTTPRequestHandler):
    """A server that does not support pins, such as lakeFS."""

    def do_PUT(self):
        type(self).requests += 1
        body = b'{"message":"invalid API endpoint"}'
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    requests = 0


def test_server_without_pins_is_read_with_a_warning(caplog):
    with ThreadingHTTPServer(("127.0.0.1", 0), WithoutPins) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        pin = ServerPin(anabranch.spark.Server(url, "key", "secret").client, "sea")
        with hold_lease(pin, ["0" * 64]) as lease:
            lease.verify()
        server.shutdown()
    assert "cannot pin commits" in caplog.text
    assert WithoutPins.requests == 1
