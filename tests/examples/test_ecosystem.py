"""The examples with programs of data teams run as docs/ecosystem.md says, and leave what it says.

They run in environments of their own, which `make examples` installs.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from support.checkout import ROOT

import anabranch
from anabranch import examples
from anabranch.testing.server import running_server

from .conftest import PAGE, commands, connected

NAMES = sorted(re.findall(r"\(\.\./examples/(\w+\.py)\)", PAGE))
pytestmark = pytest.mark.timeout(900)
PATH = "flights/delays.csv"
BEFORE = b"id,delay\n1,5\n2,7\n"
AFTER = b"id,delay\n1,5\n2,7\n3,9\n"


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_at_most_40_lines(name):
    text = (Path(examples.__file__).parent / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40


def test_the_page_has_all_examples():
    folder = Path(examples.__file__).parent
    listed = {
        *NAMES,
        *re.findall(r"\(\.\./examples/(\w+\.py)\)", (ROOT / "docs/python.md").read_text()),
    }
    here = {path.name for path in folder.glob("*.py")} - {"__init__.py", "flights.py", "lakes.py"}
    assert here == listed


@contextmanager
def lake(tmp_path):
    with anabranch.open(tmp_path / "my-lake") as opened:
        yield opened


def rows_on_main(tmp_path):
    with lake(tmp_path) as opened:
        return opened.objects.open("flights", "main", PATH).read_bytes()


def new_branches(tmp_path, repository="flights"):
    with lake(tmp_path) as opened:
        listed = opened.branches.list(repository, amount=10).items
    return [branch.id for branch in listed if branch.id != "main"]


@pytest.mark.slow
def test_dagster_merges_the_branch_of_a_run_whose_check_passes(shell, tmp_path):
    ran = shell("pipelines", commands("") + commands("Dagster"))
    assert ran.returncode == 0, ran.stderr
    assert rows_on_main(tmp_path) == AFTER

    ran = shell("pipelines", commands("Dagster").replace("1,5", "1,5000"))
    assert ran.returncode != 0
    assert rows_on_main(tmp_path) == AFTER
    assert len(new_branches(tmp_path)) == 2


@pytest.mark.slow
def test_airflow_merges_the_branch_of_a_run_whose_check_passes(shell, tmp_path):
    ran = shell("airflow", commands("") + commands("Airflow"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert rows_on_main(tmp_path) == AFTER

    export, *_, test = commands("Airflow").splitlines()
    ran = shell("airflow", f"{export}\n{test.replace('1,5', '1,5000')}")
    assert "a delay of more than a day" in ran.stdout + ran.stderr
    assert rows_on_main(tmp_path) == AFTER
    assert len(new_branches(tmp_path)) == 2


TWO_RUNS = """
python - <<'END'
from anabranch.examples.airflow_operators import BeginRun, EndRun, PublishRun
from anabranch.examples.airflow_tables import OF_RUN, STORAGE
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, write_deltalake

runs = [{"run_id": "one"}, {"run_id": "two"}]
for number, run in enumerate(runs):
    branch = BeginRun(task_id="begin", **OF_RUN).execute(run)
    BeginRun(task_id="again", **OF_RUN).execute(run)
    rows = Table.from_pydict({"delay": Array([100 + number], DataType.int64())})
    address = f"s3://flights/{branch}/delays"
    write_deltalake(address, rows, mode="append", storage_options=STORAGE)
for run in runs:
    for operator in (PublishRun, PublishRun, EndRun, EndRun):
        operator(task_id="then", **OF_RUN).execute(run)
END
"""


@pytest.mark.slow
def test_airflow_publishes_tables_of_runs_and_takes_back_failed_ones(shell, tmp_path):
    with running_server(tmp_path / "my-lake") as server:
        opened = anabranch.connect(server.url, *server.auth)
        opened.repositories.create("flights")
        script = connected(commands("Airflow and tables"), server)
        ran = shell("airflow", script)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert delays_on_main(server) == [5, 7]

        exports, last = script.splitlines()[:2], script.splitlines()[-1]
        ran = shell("airflow", "\n".join([*exports, last.replace("[5, 7]", "[9000]")]))
        assert ran.returncode != 0
        assert "a delay of more than a day" in ran.stdout + ran.stderr
        assert delays_on_main(server) == [5, 7]

        ran = shell("airflow", "\n".join([*exports, TWO_RUNS]))
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert delays_on_main(server) == [5, 7, 100, 101]
        listed = opened.branches.list("flights", amount=10).items
        assert [branch.id for branch in listed] == ["main"]


def delays_on_main(server):
    """Returns the rows of the table of delays, in order."""
    key, secret = server.auth
    settings = {
        "aws_endpoint_url": server.url,
        "aws_access_key_id": key,
        "aws_secret_access_key": secret,
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
    }
    table = DeltaTable("s3://flights/main/delays", storage_options=settings)
    return sorted(table.to_pyarrow_table()["delay"].to_pylist())


@pytest.mark.slow
def test_dbt_merges_a_branch_whose_tests_pass(shell, tmp_path):
    with lake(tmp_path) as opened:
        opened.repositories.create("flights")
        opened.objects.upload("flights", "main", PATH, [BEFORE])
        opened.commits.commit("flights", "main", message="Delays of May")
    with running_server(tmp_path / "my-lake") as server:
        script = connected(commands("dbt"), server)
        ran = shell("dbt", script)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        with lake(tmp_path) as opened:
            content = opened.objects.open("flights", "main", "delays.parquet").read_bytes()
            opened.objects.upload("flights", "main", PATH, [b"id,delay\n1,5\n1,7\n"])
            opened.commits.commit("flights", "main", message="A flight twice")
        ran = shell("dbt", script.replace("dbt-1", "dbt-2"))
        assert ran.returncode == 1
        assert "FAIL 1 unique_delays_id" in re.sub(r"\x1b\[\d+m", "", ran.stdout)
    with lake(tmp_path) as opened:
        assert opened.objects.open("flights", "main", "delays.parquet").read_bytes() == content
    assert new_branches(tmp_path) == ["dbt-1", "dbt-2"]


@pytest.mark.slow
def test_dbt_builds_in_a_workspace_and_proposes_what_it_made(shell, tmp_path):
    with lake(tmp_path) as opened:
        opened.repositories.create("flights")
        opened.objects.upload("flights", "main", PATH, [BEFORE])
        opened.commits.commit("flights", "main", message="Delays of May")
    with running_server(tmp_path / "my-lake") as server:
        script = connected(commands("dbt in a workspace"), server)
        ran = shell("dbt", script)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (branch,) = new_branches(tmp_path)
        remote = anabranch.connect(server.url, *server.auth)
        pulls = f"{server.url}/api/v1/repositories/flights/pulls"
        (pull,) = httpx2.get(pulls, auth=server.auth).json()["results"]
        assert (pull["source_branch"], pull["destination_branch"]) == (branch, "main")
        changed = remote.refs.diff("flights", "main", branch, amount=10).items
        assert [change.path for change in changed] == ["out/late.parquet"]
        made = remote.objects.open("flights", branch, "out/late.parquet").read_bytes()
    assert pq.read_table(io.BytesIO(made)).to_pylist() == [{"id": 2, "delay": 7}]


@pytest.mark.slow
def test_pandera_lists_what_is_wrong_and_keeps_the_branch(shell, tmp_path):
    ran = shell("pipelines", commands("") + commands("Pandera"))
    assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran.stderr
    assert rows_on_main(tmp_path) == AFTER.rstrip()

    ran = shell(
        "pipelines", commands("Pandera").replace("load-1", "load-2").replace("3,9", "1,9999")
    )
    assert "id: field_uniqueness" in ran.stdout
    assert "delay: in_range(-60, 1440)" in ran.stdout
    assert rows_on_main(tmp_path) == AFTER.rstrip()
    assert new_branches(tmp_path) == ["load-1", "load-2"]


@pytest.mark.slow
def test_pandera_refuses_a_merge_in_a_hook(shell, tmp_path):
    ran = shell("pipelines", commands("") + commands("Pandera in a hook"))
    assert ran.returncode == 0, ran.stderr
    refused, merged = ran.stdout.splitlines()
    assert "flights/delays.csv: id: field_uniqueness, and 2 more" in refused
    assert merged == "merged"
    assert rows_on_main(tmp_path) == AFTER


@pytest.mark.slow
def test_mlflow_reads_again_what_it_was_trained_on(shell, tmp_path):
    later = """
import anabranch, mlflow
from anabranch.examples.mlflow_pinned_dataset import read_again
with anabranch.open("my-lake") as lake:
    lake.objects.upload("flights", "main", "flights/delays.csv", [b"id,delay\\n9,99\\n"])
    lake.commits.commit("flights", "main", message="Other rows")
(run,) = mlflow.search_runs(output_format="list")
print(run.data.metrics["mean"], read_again("my-lake", run.info.run_id).values.tolist())
"""
    script = (
        commands("") + commands("MLflow") + f"cat > later.py <<'END'{later}END\npython later.py\n"
    )
    ran = shell("pipelines", script)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "6.0 [[1, 5], [2, 7]]"
    assert rows_on_main(tmp_path) == b"id,delay\n9,99\n"


@pytest.mark.slow
def test_a_hugging_face_dataset_is_changed_on_a_branch(shell, tmp_path):
    ran = shell("pipelines", commands("Hugging Face Datasets"))
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr
    assert new_branches(tmp_path, "images") == ["correct"]
    look = """
from anabranch.examples.hugging_face_labels import load
print(load("my-lake", "main")["label"][:], load("my-lake", "correct")["label"][:])
"""
    ran = shell("pipelines", f"cat > look.py <<'END'{look}END\npython look.py")
    assert ran.stdout == "['cat', 'dog'] ['cat', 'fox']\n"


@pytest.mark.slow
def test_pytorch_loads_a_commit_and_resumes(shell):
    ran = shell("torch", commands("PyTorch"))
    assert (ran.returncode, ran.stdout) == (0, "1000\nTrue\n"), ran.stderr
