"""Exports on Spark: same results as in one process; each engine continues exports of the other."""

from __future__ import annotations

import hashlib
import uuid

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.progress import CallbackProgress
from support.session.hypothesis_profiles import examples

import anabranch.spark
from anabranch.errors import Conflict, Gone, Invalid, NotFound, NotSupported
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.state import STATE, read_state
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)


def commit(lake, objects, repository="sea"):
    """Commits exactly these objects to main and returns the id of the commit."""
    page = lake.objects.listing(repository, "main", amount=1000)
    existing = {item.path: item.entry.checksum for item in page.items}
    for path in existing.keys() - objects.keys():
        lake.objects.delete(repository, "main", path)
    for path, content in objects.items():
        if existing.get(path) != hashlib.md5(content).hexdigest():
            lake.objects.upload(repository, "main", path, [content])
    return lake.commits.commit(repository, "main", message="m", committer="c").id


def exported_files(destination):
    """Returns the files at a destination, without those of the export itself."""
    paths = [path for path in destination.paths() if not path.startswith((STATE, "EXPORT_"))]
    return {path: destination.read_note(path) for path in paths}


class Interrupted(Exception):
    """Interrupts an export."""


def interrupt_after(waves):
    """Returns a progress callback that interrupts an export after this many waves of tasks."""

    def callback(_):
        nonlocal waves
        if not waves:
            raise Interrupted
        waves -= 1

    return callback


names = st.sampled_from(["a", "b", "b/c", "d/e", "d/f", "g", "h", "i/j/k"])
# a folder cannot have both a file `b` and a folder `b`
name_sets = st.sets(names).map(lambda drawn: drawn - {"b/c"} if "b" in drawn else drawn)
contents = name_sets.flatmap(
    lambda drawn: st.fixed_dictionaries({n: st.sampled_from([b"1", b"2"]) for n in drawn})
)
attempts = st.lists(
    st.tuples(contents, st.sampled_from(["local", "spark"]), st.integers(0, 2)),
    min_size=2,
    max_size=3,
)


FEW = settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FEW
@given(attempts)
@pytest.mark.slow
def test_each_engine_continues_exports_of_the_other(spark, tmp_path_factory, interrupted):
    export_in_turns(spark, tmp_path_factory.mktemp("export"), interrupted)


@pytest.mark.slow
@settings(FEW, max_examples=examples(25))
@given(attempts)
def test_each_engine_continues_many_exports_of_the_other(spark, tmp_path_factory, interrupted):
    export_in_turns(spark, tmp_path_factory.mktemp("export"), interrupted)


def export_in_turns(spark, root, interrupted):
    """Exports with each engine, interrupted after a number of waves, and finally with Spark."""
    with anabranch.open(root / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        destination = FolderDestination(root / "out")

        def on_spark(callback):
            return anabranch.spark.export(
                *(spark, lake, "sea", "main", str(root / "out")),
                progress=CallbackProgress(callback),
                entries_per_task=3,
                tasks_at_once=1,
            )

        def locally(callback):
            progress = CallbackProgress(callback)
            exporter = Exporter(lake.core, lake.blocks, progress=progress, page=2)
            return exporter.export("sea", "main", destination)

        engines = {"spark": on_spark, "local": locally}
        for number, (objects, engine, waves) in enumerate(interrupted):
            expected = {**objects, "number": str(number).encode()}
            newest = commit(lake, expected)
            try:
                engines[engine](interrupt_after(waves))
            except Interrupted:
                assert read_state(destination).attempts
        done = on_spark(lambda _: None)
        assert exported_files(destination) == expected
        assert read_state(destination).complete == done.commit == newest
        assert locally(interrupt_after(0)).stored == 0


def test_summary_equals_that_of_the_local_engine(spark, lake, tmp_path):
    first = {f"d{number % 3}/{number}": b"%d" % number for number in range(40)}
    second = {**first, "d0/3": b"new", "e/f": b"more"} | {"d1/x": b"1"}
    del second["d1/1"]
    out = {name: tmp_path / name for name in ("spark", "local")}
    for round_, objects in enumerate((first, second)):
        commit(lake, objects)
        for folder in out.values():
            folder.mkdir(exist_ok=True)
            (folder / f"strange{round_}").write_text("x")
        advances = []
        on_spark = anabranch.spark.export(
            *(spark, lake, "sea", "main", str(out["spark"])),
            remove_extra=True,
            progress=CallbackProgress(advances.append),
            entries_per_task=7,
        )
        exporter = Exporter(lake.core, lake.blocks)
        destination = FolderDestination(out["local"])
        local = exporter.export("sea", "main", destination, remove_extra=True)
        skipped = ("destination", "started_at", "ended_at", "marker", "phases", "tasks")
        summaries = [
            {
                name: value
                for name, value in msgspec.to_builtins(done).items()
                if name not in skipped
            }
            for done in (on_spark, local)
        ]
        assert summaries[0] == summaries[1]
        assert (
            exported_files(FolderDestination(out["spark"]))
            == exported_files(destination)
            == objects
        )
        assert sum(advances) == on_spark.stored
        assert (out["spark"] / on_spark.marker).exists()
    times = [(folder / "d0/3").stat().st_mtime for folder in out.values()]
    assert times[0] == times[1]


@pytest.mark.slow  # tests/pipelines/exports
def test_invalid_exports_raise_errors(spark, lake, tmp_path):
    commit(lake, {"a": b"12345", "b//c": b"678"})
    out = str(tmp_path / "out")

    def export(to=out, repository="sea", **options):
        return anabranch.spark.export(spark, lake, repository, "main", to, **options)

    with pytest.raises(Invalid, match="cannot be exported there") as refused:
        export()
    assert refused.value.kind == "unfit_path"
    done = export(skip_invalid=True)
    assert (done.stored, done.invalid, len(done.shown)) == (1, 1, 1)
    with pytest.raises(Invalid, match="has its data there"):
        export(str(tmp_path))
    lake.repositories.create("land", "local://land")
    with pytest.raises(Conflict, match="repository sea"):
        export(repository="land")
    with pytest.raises(NotFound):
        export(repository="nowhere")
    address = lake.objects.stat("sea", "main", "a").physical_address
    file = tmp_path / "lake" / "block" / address.partition("/block/")[2]
    file.write_bytes(b"54321")
    with pytest.raises(Gone, match=r"^a: .*damaged: its bytes have the MD5"):
        export(skip_invalid=True, everything=True)
    file.unlink()
    with pytest.raises(Gone, match=r"^a: "):
        export(skip_invalid=True, everything=True)


def test_export_through_a_server_to_its_bucket_and_to_a_folder(spark, s3_service, tmp_path):
    name = f"exports-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(name)
    store = s3_service.task_store()
    blocks = s3_service.blocks()
    objects = {f"{number % 3}/{number}": b"%d" % number for number in range(20)}
    with running_server(tmp_path, env=s3_service.settings) as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        body = {"name": "sea", "storage_namespace": f"s3://{name}/sea"}
        served.client.change("POST", body=body)
        with Lake(
            MemoryStore(), blocks, cache_folder=tmp_path / "other", signing_secret=b"s"
        ) as lake:
            lake.repositories.create("made", f"s3://{name}/made")
            commit(lake, objects, "made")
            listing = anabranch.spark.objects(spark, lake, "made", "main", store=store)
            anabranch.spark.import_listing(served, "sea", "main", listing, store=store)
        with pytest.raises(NotSupported, match="workers need access"):
            anabranch.spark.export(spark, served, "sea", "main", f"s3://{name}/out")
        with pytest.raises(Invalid, match="the repository sea has its data there"):
            anabranch.spark.export(spark, served, "sea", "main", f"s3://{name}/sea/x", store=store)
        for to, stored in (
            (f"s3://{name}/out", 20),
            (f"s3://{name}/out", 0),
            (str(tmp_path / "out"), 20),
        ):
            done = anabranch.spark.export(spark, served, "sea", "main", to, store=store)
            assert (done.stored, done.invalid) == (stored, 0)
        for path, content in objects.items():
            assert blocks.read(f"s3://{name}/out/{path}") == content
            assert (tmp_path / "out" / path).read_bytes() == content
