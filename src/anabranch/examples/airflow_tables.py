"""An Airflow DAG whose run appends to a Delta table on a branch of its own, which it merges."""

import os
from typing import Any

from airflow.sdk import dag, get_current_context, task
from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

from anabranch.examples.airflow_operators import BeginRun, EndRun, PublishRun

STORAGE = {
    "aws_endpoint_url": os.environ["ANABRANCH_SERVER"],
    "aws_access_key_id": os.environ["ANABRANCH_ACCESS_KEY_ID"],
    "aws_secret_access_key": os.environ["ANABRANCH_SECRET_ACCESS_KEY"],
    "aws_allow_http": "true",
    "aws_region": "us-east-1",
}
OF_RUN: Any = {"repository": "flights", "tables": ["delays"]}


@task
def append(branch: str) -> None:
    """Appends the delays of the run's parameter, and fails if one is above a day."""
    delays = get_current_context()["params"]["delays"]
    rows = Table.from_pydict({"delay": Array(delays, DataType.int64())})
    write_deltalake(f"s3://flights/{branch}/delays", rows, mode="append", storage_options=STORAGE)
    if max(delays) > 1440:
        raise ValueError(f"a delay of more than a day on {branch}")


@dag(schedule=None, params={"delays": [5]})
def tables() -> None:
    """Begins a branch, appends, publishes; the end of the run takes back what was not published."""
    begin = BeginRun(task_id="begin", **OF_RUN)
    publish, end = PublishRun(task_id="publish", **OF_RUN), EndRun(task_id="end", **OF_RUN)
    begin >> append(begin.output) >> publish >> end.as_teardown(setups=begin.as_setup())


tables()
