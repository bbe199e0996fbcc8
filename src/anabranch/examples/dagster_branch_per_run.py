"""A Dagster asset that each run writes on a branch of its own, merged only after its check."""

import os

import dagster as dg
import pandas as pd

import anabranch

FOLDER = os.environ["LAKE"]
PATH = "flights/delays.csv"


@dg.asset(config_schema={"csv": str})
def delays(context: dg.AssetExecutionContext) -> None:
    """Delays of flights, on the branch of the run."""
    branch = f"run-{context.run.run_id}"
    with anabranch.open(FOLDER) as lake:
        lake.branches.create("flights", branch, "main")
        lake.objects.upload("flights", branch, PATH, [context.op_config["csv"].encode()])
        lake.commits.commit("flights", branch, message="Load delays")


@dg.asset_check(asset=delays, blocking=True)
def no_delay_above_a_day(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """Examines what the run has written."""
    with anabranch.open(FOLDER) as lake:
        frame = pd.read_csv(lake.objects.open("flights", f"run-{context.run.run_id}", PATH))
    return dg.AssetCheckResult(passed=bool((frame["delay"] < 1440).all()))


@dg.asset(deps=[delays])
def published(context: dg.AssetExecutionContext) -> None:
    """The delays on `main`: the branch of the run is merged."""
    with anabranch.open(FOLDER) as lake:
        lake.refs.merge("flights", f"run-{context.run.run_id}", "main")


definitions = dg.Definitions([delays, published], asset_checks=[no_delay_above_a_day])
