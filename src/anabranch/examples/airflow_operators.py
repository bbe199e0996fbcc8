"""Airflow operators: a branch for each DAG run, which is merged with its tables, or taken back."""

from contextlib import suppress
from typing import Any

from airflow.sdk import BaseOperator

from anabranch import connect, errors
from anabranch.lake.table_rules import table_rules


class BeginRun(BaseOperator):  # noqa: D101  creates the branch; `tables` are folders of Delta Lake
    repeated: Any = (errors.AlreadyExists, errors.NoChanges)  # of a task that is tried again

    def __init__(self, *, repository: str, branch: str = "main", tables: Any = (), **more: Any):  # noqa: ANN204
        super().__init__(**more)
        self.repository, self.branch, self.tables = repository, branch, list(tables)

    def execute(self, context: Any) -> str:  # noqa: D102  Airflow's
        name = "run-" + "".join(filter(str.isalnum, context["run_id"]))
        with connect() as lake, suppress(self.repeated):
            self.act(lake, self.repository, name)
        return name

    def act(self, lake: Any, repository: str, name: str) -> None:  # noqa: D102  by each operator
        lake.branches.create(repository, name, self.branch)


class PublishRun(BeginRun):  # noqa: D101  commits what is staged, and merges the branch
    def act(self, lake: Any, repository: str, name: str) -> None:  # noqa: D102
        with suppress(errors.NoChanges):
            lake.commits.commit(repository, name, message=f"{self.dag_id}: {name}")
        lake.refs.merge(repository, name, self.branch, resolutions=table_rules(self.tables))


class EndRun(BeginRun):  # noqa: D101  deletes the branch: what was not merged is taken back
    def act(self, lake: Any, repository: str, name: str) -> None:  # noqa: D102
        with suppress(errors.NotFound):
            lake.branches.delete(repository, name)
