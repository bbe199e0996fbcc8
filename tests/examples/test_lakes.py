"""The lakes example on a real server, all steps, with no package beside the core's."""

from __future__ import annotations

from anabranch.client.authorization import basic_authorization
from anabranch.client.rest_client import RestClient
from anabranch.examples.lakes import LakesExample
from anabranch.testing.server import running_server


def test_example_runs_all_steps(tmp_path):
    with running_server(tmp_path) as server:
        client = RestClient(server.url, basic_authorization(*server.auth))
        example = LakesExample(client)
        assert not example.exists()
        outcomes = [step() for _, step in example.steps()]
        assert outcomes[2] == "conflict: data/rivers.csv, main is unchanged"
        assert example.exists()
        of = ("repositories", "quickstart", "refs")
        messages = [each["message"] for each in client.get(*of, "main", "commits")["results"]]
        assert messages[0] == "Merge 'round-lengths' into 'main'"
        assert "Lengths in hundreds" in messages
        changes = client.get(*of, "main~1", "diff", "main")["results"]
        assert [(each["type"], each["path"]) for each in changes] == [
            ("changed", "data/rivers.csv")
        ]
        with client.download(*of, "v1", "objects", path="data/rivers.csv") as content:
            assert b"Amazon,6500" in b"".join(content.chunks)
