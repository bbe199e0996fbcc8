"""The flights example on a real server, all steps."""

from __future__ import annotations

import pandas as pd
import pytest

from anabranch.examples import flights
from anabranch.testing.server import running_server

DECEMBER = "flights/month=12/flights.parquet"


@pytest.mark.slow
def test_example_runs_all_steps(tmp_path):
    with running_server(tmp_path) as server:
        example = flights.FlightsExample(server.url, *server.auth)
        assert not example.exists()
        reported = []
        flights.run_steps(example, lambda line, seconds: reported.append((line, seconds)))
        titles = [title for title, _ in example.steps()]
        assert [line.partition(":")[0] for line, _ in reported] == titles
        assert all(seconds >= 0 for _, seconds in reported)
        assert example.exists()
        check_results(example)
        check_that_wrong_data_raise(example)


def check_results(example):
    """Checks the results independently of the example's own checks."""
    assert [change.path for change in example.main.uncommitted()] == []
    messages = [commit.message for commit in example.main.log()]
    assert messages[0] == "Merge 'only-newark' into 'main'"
    assert messages[-2:] == ["All flights of 2013", "Repository created"]
    assert len([message for message in messages if message.startswith("Merge ")]) == 4
    assert example.main.object("README.md").reader(mode="r").read() == flights.README
    december = pd.read_parquet(
        f"lakefs://{flights.REPOSITORY}/v1/{DECEMBER}", storage_options=example.options
    )
    assert set(december["origin"]) == {"EWR"}
    everything = pd.read_parquet(
        f"lakefs://{flights.REPOSITORY}/main~4/{DECEMBER}", storage_options=example.options
    )
    assert set(everything["origin"]) == {"EWR", "JFK", "LGA"}


def check_that_wrong_data_raise(example):
    wrong = example.months[12].assign(dep_delay=0.0)
    example.write("main", 12, wrong)
    with pytest.raises(flights.ExampleError, match="month=12"):
        example.check("main", example.months)
    example.check("v1", example.months)
