"""A server as the source of DataFrames, and its errors."""

from __future__ import annotations

import pickle
import uuid
from pathlib import Path

import pytest
from support.faults.scripted_socket import ScriptedSocket, answer
from support.services.s3_service import CREDENTIALS

import anabranch.spark
from anabranch import _kernel as kernel
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import (
    Busy,
    Corrupt,
    Gone,
    Invalid,
    NotFound,
    OutcomeUnknown,
    Unauthenticated,
)
from anabranch.spark.data_source.provider import Reader
from anabranch.spark.data_source.read_options import parse_options
from anabranch.spark.sources.commit_sources import open_references, open_repository
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def source(server):
    """The server, with the key pair of its administrator."""
    return anabranch.spark.Server(server.url, *server.auth)


def test_dataframes_equal_listings_and_diffs_of_the_server(spark, source, repository):
    table = anabranch.spark.objects(spark, source, repository.id, "main", entries_per_task=1)
    listed = [(x.path, x.size_bytes, x.checksum) for x in repository.ref("main").objects()]
    assert [tuple(row) for row in table.select("path", "size", "checksum").collect()] == listed
    changes = anabranch.spark.changes(spark, source, repository.id, "main~1", "main")
    expected = [(x.type, x.path) for x in repository.ref("main~1").diff("main", type="two_dot")]
    assert [(row.change, row.path) for row in changes.collect()] == expected


def test_errors_of_the_server_are_raised(server, source, repository):
    with pytest.raises(NotFound, match=server.url):
        open_repository(source, "no-such-repository")
    with pytest.raises(NotFound):
        open_repository(source, repository.id).ranges("nothing")
    wrong = anabranch.spark.Server(server.url, server.access_key_id, "wrong")
    with pytest.raises(Unauthenticated):
        open_repository(wrong, repository.id)
    with pytest.raises(Busy, match="refused"):
        open_repository(anabranch.spark.Server("http://127.0.0.1:1", "a", "b"), "sea")
    with pytest.raises(Invalid):
        anabranch.spark.Server("file:///etc", "a", "b")


def test_missing_or_damaged_table_raises_an_error(source, repository):
    opened = open_repository(source, repository.id)
    (table,) = opened.ranges("main")
    with opened.tables.locator() as locate:
        assert Path(locate(table.id)).read_bytes() == Path(locate(table.id)).read_bytes()
        path = Path(locate(table.id))
        with pytest.raises(Gone, match="0" * 64):
            locate("0" * 64)
    assert not path.exists()

    client = repository._client.sdk_client
    location = client.metadata_api.get_range(repository.id, table.id).location
    stored = Path(location.removeprefix("local://"))
    content = stored.read_bytes()
    damaged = stored.with_name("damaged")
    damaged.write_bytes(content[:-1])
    damaged.replace(stored)
    try:
        with opened.tables.locator() as locate, pytest.raises(Corrupt, match=table.id):
            locate(table.id)
    finally:  # garbage collections in other tests read all repositories of the server
        stored.write_bytes(content)


def test_repr_does_not_contain_the_secret_key(server, source):
    unpickled = pickle.loads(pickle.dumps(source))  # noqa: S301
    for text in (repr(source), str(unpickled), repr(vars(unpickled))):
        assert server.secret_access_key not in text
    assert repr(unpickled) == repr(source)


BUSY = answer("503 Service Unavailable", b"{}", "Retry-After: 0")


def scripted(*answers):
    """Returns a socket with these responses, and a server at its address."""
    socket = ScriptedSocket(answers)
    return socket, anabranch.spark.Server(socket.url, "key", "secret")


def test_requests_are_repeated_while_the_server_is_busy():
    done = answer("201 Created", b'{"id": "sea"}')
    socket, source = scripted(BUSY, BUSY, answer("200 OK", b'{"id": "sea"}'), BUSY, done)
    assert source.client.get("sea") == {"id": "sea"}
    source.client.change("POST", body={"name": "sea"})
    assert [request.split(b" ")[0] for request in socket.requests] == [b"GET"] * 3 + [b"POST"] * 2
    assert socket.requests[-1].endswith(b'{"name": "sea"}')
    socket.close()


def test_change_without_a_response_is_sent_once():
    socket, source = scripted(answer("200 OK"), b"")
    source.client.get("sea")
    with pytest.raises(OutcomeUnknown):
        source.client.change("POST", body={})
    assert len(socket.requests) == 2
    socket.close()


def test_pins_are_renewed_and_released_without_repetition():
    socket, source = scripted(BUSY, BUSY)
    pin = open_references(source, "sea").new_pin("read-1")
    for change in (lambda: pin.renew(60), pin.release):
        with pytest.raises(Busy):
            change()
    assert len(socket.requests) == 2
    socket.close()


def test_download_that_breaks_off_is_repeated(tmp_path):
    metarange_id = kernel.write_metarange([], str(tmp_path))
    content = (tmp_path / metarange_id).read_bytes()
    broken = answer("200 OK", content[:-9], length=len(content))
    socket, source = scripted(broken, broken, answer("200 OK", content))
    target = tmp_path / "received"
    source.fetch("sea", metarange_id, target)
    assert target.read_bytes() == content
    assert len(socket.requests) == 3
    socket.close()


def test_tasks_read_tables_from_the_store_without_the_server(spark, emulated_s3, tmp_path):
    """The server stops before the tasks begin."""
    bucket = f"bucket-{uuid.uuid4()}"
    emulated_s3.make_bucket(bucket)
    options = {
        "endpoint": emulated_s3.endpoint,
        "access_key_id": CREDENTIALS.access_key_id,
        "secret_access_key": CREDENTIALS.secret.reveal(),
    }
    store = anabranch.spark.S3Store(**options, path_style=True)
    with running_server(tmp_path / "served", env=emulated_s3.settings) as running:
        server = anabranch.spark.Server(running.url, *running.auth)
        server.client.change(
            "POST", body={"name": "sea", "storage_namespace": f"s3://{bucket}/sea"}
        )
        for number in range(3):
            location = ("sea", "branches", "main", "objects")
            server.client.change("POST", *location, query={"path": f"p/{number}"})
        server.client.change("POST", "sea", "branches", "main", "commits", body={"message": "m"})
        functions = [
            anabranch.spark.objects(spark, server, "sea", "main", store=store, prefix="p/1"),
            anabranch.spark.objects(spark, server, "sea", "main", store=store),
        ]
        with pytest.raises(Invalid, match=f"s3://{bucket}/sea: the given store does not accept"):
            anabranch.spark.objects(
                *(spark, server, "sea", "main"), store=LocalBlocks(str(tmp_path)).opener()
            )
        selection = {"repository": "sea", "reference": "main"}
        options = {f"store_{name}": value for name, value in options.items()}
        readers = [
            Reader(parse_options(selection, server, store)),
            Reader(
                parse_options(
                    {**selection, **options, "store": "s3", "store_path_style": "true"}, server
                )
            ),
        ]
        planned = [(reader, reader.partitions()) for reader in readers]
    expected = [f"p/{number}" for number in range(3)]
    paths = [[row.path for row in table.collect()] for table in functions]
    assert paths == [["p/1"], expected]
    for reader, partitions in planned:
        batches = [batch for each in partitions for batch in reader.read(each)]
        assert [path for batch in batches for path in batch["path"].to_pylist()] == expected
