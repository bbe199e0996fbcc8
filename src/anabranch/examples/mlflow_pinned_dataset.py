"""An MLflow run that records its dataset at a commit, and reads the same rows again later."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mlflow
import pandas as pd

import anabranch

__all__ = ["read_again", "train"]
PATH = "flights/delays.csv"


def train(folder: str | Path) -> str:
    """Returns the id of a run whose input is the table on `main`, at the commit of now."""
    with anabranch.open(folder) as lake:
        commit = lake.commits.get("flights", "main").id
        frame = pd.read_csv(lake.objects.open("flights", commit, PATH))
    source = f"s3://flights/{commit}/{PATH}"  # the address in the S3 gateway; it never changes
    dataset = mlflow.data.from_pandas(frame, source=source, name="delays", targets="delay")
    with mlflow.start_run() as run:
        mlflow.log_input(dataset, context="training")
        mlflow.log_metric("mean", frame["delay"].mean())
    return str(run.info.run_id)


def read_again(folder: str | Path, run_id: str) -> pd.DataFrame:
    """Returns the rows that a run was trained on, whatever `main` has now."""
    (used,) = mlflow.get_run(run_id).inputs.dataset_inputs
    repository, commit, path = json.loads(used.dataset.source)["uri"][5:].split("/", 2)
    with anabranch.open(folder) as lake:
        return pd.read_csv(lake.objects.open(repository, commit, path))


if __name__ == "__main__":
    print(read_again(sys.argv[1], train(sys.argv[1])))
