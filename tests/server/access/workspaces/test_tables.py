"""Tables that a workspace writes itself, whose metadata name files outside."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch
from tests.server.access.workspaces.conftest import commit, make_intruder, make_world, put


@pytest.fixture(scope="module")
def writer(team):
    """A program whose keys do not read `secret/`, and Parquet files that it must not read."""
    world = make_world(team)
    file = io.BytesIO()
    pq.write_table(pa.table({"word": ["TABLE-SECRET"]}), file)
    content = file.getvalue()
    api = team.admin.api
    for branch, path in (("main", "in/late.parquet"), ("other", "in/other.parquet")):
        put(api, world.repository, branch, path, content)
        commit(api, world.repository, branch)
    put(api, world.foreign, "main", "in/foreign.parquet", content)
    commit(api, world.foreign, "main")
    source = {"source": "main", "branch": "tables", "readable": ["in/**", "out/**"]}
    made = api.post(
        f"/repositories/{world.repository}/workspaces", json=source | {"writable": ["out/**"]}
    ).json()
    put(api, world.repository, "tables", "secret/hidden.parquet", content)
    commit(api, world.repository, "tables")
    return make_intruder(team, world._replace(workspace="tables", fields=made)), len(content)


def delta_log(path, size):
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(
                    {
                        "type": "struct",
                        "fields": [
                            {"name": "word", "type": "string", "nullable": True, "metadata": {}}
                        ],
                    }
                ),
                "partitionColumns": [],
                "configuration": {},
            }
        },
        {
            "add": {
                "path": path,
                "partitionValues": {},
                "size": size,
                "modificationTime": 0,
                "dataChange": True,
            }
        },
    ]
    return "\n".join(map(json.dumps, actions)).encode()


def shown(intruder, folder):
    """Returns what the ways to read a table answer."""
    world, api = intruder.world, intruder.api
    place = f"/repositories/{world.repository}/refs/{world.workspace}"
    address = f"lakefs://{world.repository}/{world.workspace}/{folder}"
    yield api.get(f"{place}/tables/preview", params={"path": f"{folder}/"})
    yield api.get(f"{place}/tables/preview", params={"path": folder})
    body = {"sql": f"SELECT * FROM delta_table('{address}')", "tables": {}}
    yield api.post(f"{place}/query", json=body)
    source = world.fields["source_commit"]
    left = f"/repositories/{world.repository}/refs/{source}/diff/{world.workspace}$/rows"
    yield api.get(left, params={"path": folder})


def test_a_table_of_readable_files_is_shown(writer):
    intruder, size = writer
    world = intruder.world
    copied = intruder.api.post(
        f"/repositories/{world.repository}/branches/{world.workspace}/objects/copy",
        params={"dest_path": "out/good/a.parquet"},
        json={"src_path": "in/late.parquet"},
    )
    assert copied.status_code == 201
    file = f"out/good/_delta_log/{'0' * 20}.json"
    put(intruder.api, world.repository, world.workspace, file, delta_log("a.parquet", size))
    texts = [each.text for each in shown(intruder, "out/good")]
    assert ["TABLE-SECRET" in text for text in texts] == [True] * 4, texts


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "path",
    [
        "../../secret/hidden.parquet",
        "..%2F..%2Fsecret%2Fhidden.parquet",
        "/secret/hidden.parquet",
        "lakefs://{repository}/{workspace}/secret/hidden.parquet",
        "lakefs://{repository}/other/in/other.parquet",
        "s3a://{repository}/other/in/other.parquet",
        "s3://{repository}/{workspace}/secret/hidden.parquet",
        "s3a://{foreign}/main/in/foreign.parquet",
        "file:///etc/passwd",
        "local://{repository}/data",
    ],
)
def test_a_table_does_not_show_files_that_its_writer_cannot_read(writer, path):
    intruder, size = writer
    world = intruder.world
    named = path.format(
        repository=world.repository, workspace=world.workspace, foreign=world.foreign
    )
    folder = f"out/t{abs(hash(path))}"
    file = f"{folder}/_delta_log/{'0' * 20}.json"
    put(intruder.api, world.repository, world.workspace, file, delta_log(named, size))
    for answer in shown(intruder, folder):
        assert b"TABLE-SECRET" not in answer.content, (path, answer.text)


def test_snapshots_of_keys_that_read_everything_have_no_tables(team):
    world = make_world(team, readable=[])
    intruder = make_intruder(team, world)
    lake = anabranch.connect(team.server.url, token=world.fields["token"])
    with lake:
        snapshot = lake.snapshot(world.repository, world.workspace)
        assert "secret/a.csv" in [each.path for each in snapshot.list("")]
        assert snapshot.read("in/a.csv") == b"x,y\n1,2\n"
    answer = intruder.api.get(f"/repositories/{world.repository}/refs/{world.workspace}/snapshot")
    assert answer.json()["tables"] is None
