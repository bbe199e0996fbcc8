"""Servers that are killed while tables are written, and repositories that are restored."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from support.session.sizes import sized

from anabranch.testing.server import running_server

from .conftest import Lake, ids, trips


def test_what_was_acknowledged_survives_a_kill(tmp_path):
    acknowledged = []
    for first in range(1, 100 * sized(1, weekly=3), 100):
        with running_server(tmp_path) as server:
            lake = Lake(server, None if first == 1 else "killed")
            if first == 1:
                body = {"name": "killed", "storage_namespace": "local://killed"}
                assert lake.api.post("/repositories", json=body).status_code == 201
                lake = Lake(server, "killed")
                lake.post("main", "/namespaces", {"namespace": ["city"]})
                lake.catalog().create_table("city.trips", trips().schema)
            table = lake.catalog().load_table("city.trips")
            assert ids(table) == sorted(acknowledged)
            enough = threading.Event()

            def write(table=table, first=first, enough=enough):
                number = first
                with_errors = False
                while not with_errors:
                    try:
                        table.append(trips(number))
                    except Exception:  # noqa: BLE001  the server is gone
                        with_errors = True
                    else:
                        acknowledged.append(number)
                        number += 1
                        if number - first == 5:
                            enough.set()

            writer = threading.Thread(target=write)
            writer.start()
            assert enough.wait(200)
            os.kill(server.pid, signal.SIGKILL)
            writer.join(200)
        with running_server(tmp_path) as server:
            found = ids(Lake(server, "killed").catalog().load_table("city.trips"))
            assert set(acknowledged) <= set(found)
            assert len(found) == len(set(found)) <= len(acknowledged) + 1
            acknowledged[:] = found  # the last one may have been made without a response


@pytest.mark.parametrize("reference", ["main", "v1"])
def test_tables_of_a_repository_that_is_restored_are_read(lake, table, reference):
    lake.tag("v1")
    dump = lake.api.put(f"{lake.root}/refs/dump")
    assert dump.status_code == 201, dump.text
    assert lake.api.delete(lake.root).status_code == 204
    body = {"name": lake.name, "storage_namespace": f"local://{lake.name}"}
    made = lake.api.post("/repositories", json=body, params={"bare": "true"})
    assert made.status_code == 201, made.text
    restored = lake.api.put(f"{lake.root}/refs/restore", json=dump.json())
    assert restored.status_code in {200, 204}, restored.text
    assert ids(lake.catalog(reference).load_table("city.trips")) == [1, 2]
    if reference == "main":
        lake.catalog().load_table("city.trips").append(trips(3))
        assert ids(lake.catalog().load_table("city.trips")) == [1, 2, 3]
    assert table.metadata_location
