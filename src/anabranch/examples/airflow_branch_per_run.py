"""An Airflow DAG whose run loads rows on a branch of its own, which it merges after a check."""

import os

import pandas as pd
from airflow.sdk import dag, get_current_context, task

import anabranch

FOLDER, PATH = os.environ["LAKE"], "flights/delays.csv"


@task
def load() -> str:
    """Returns the branch of the run, with the rows of its parameter."""
    context = get_current_context()
    branch = "run-" + "".join(filter(str.isalnum, context["run_id"]))
    with anabranch.open(FOLDER) as lake:
        lake.branches.create("flights", branch, "main")
        lake.objects.upload("flights", branch, PATH, [context["params"]["csv"].encode()])
        lake.commits.commit("flights", branch, message="Load delays")
    return branch


@task
def check_and_publish(branch: str) -> None:
    """Merges the branch, or keeps it if a delay is above a day."""
    with anabranch.open(FOLDER) as lake:
        if pd.read_csv(lake.objects.open("flights", branch, PATH))["delay"].max() > 1440:
            raise ValueError(f"a delay of more than a day on {branch}")
        lake.refs.merge("flights", branch, "main")


@dag(schedule=None, params={"csv": "id,delay"})
def flights() -> None:
    """Loads delays, checks and publishes them."""
    check_and_publish(load())


flights()
