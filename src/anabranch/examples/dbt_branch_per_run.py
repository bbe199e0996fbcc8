"""dbt builds a model on a branch through the S3 gateway; the branch is merged if its tests pass."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import lakefs
from dbt.cli.main import dbtRunner

__all__ = ["build"]
FILES = {
    "dbt_project.yml": "{name: flights, profile: flights}",
    "profiles.yml": """
flights: {target: lake, outputs: {lake: {type: duckdb, filesystems: [{fs: s3}]}}}""",
    "models/delays.sql": """
{% set branch = 's3://flights/' ~ env_var('BRANCH') %}
{{ config(materialized='external', location=branch ~ '/delays.parquet') }}
SELECT id, delay FROM read_csv('{{ branch }}/flights/delays.csv')""",
    "models/tests.yml": """
models: [{name: delays, columns: [{name: id, data_tests: [unique, not_null]}]}]""",
}


def build(project: Path, branch: str) -> bool:
    """Returns whether the model was built and merged; else the branch is kept as it is."""
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    os.environ["BRANCH"] = branch
    made = lakefs.repository("flights").branch(branch).create("main")
    built = dbtRunner().invoke(["build", f"--project-dir={project}", f"--profiles-dir={project}"])
    return built.success and bool(made.commit("Build delays") and made.merge_into("main"))


if __name__ == "__main__":
    sys.exit(not build(Path(sys.argv[1]), sys.argv[2]))
