"""The alerts and the dashboard of `deploy/monitoring`: what they ask Prometheus for is there."""

from __future__ import annotations

import json
import re
import subprocess

import httpx2
import pytest
import yaml
from support.checkout import ROOT
from support.clients.s3_client import s3_client
from support.session.environments import cache_folder

from anabranch.rest.table import EXTENSIONS, OPERATIONS

MONITORING = ROOT / "deploy/monitoring"
ALERTS = yaml.safe_load((MONITORING / "alerts.yaml").read_text("utf-8"))
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text("utf-8"))
PYTHON = cache_folder("deploy-tools") / "validators/bin/python"
PARSE = """
import json, sys, promql_parser
for query in json.load(sys.stdin):
    print(promql_parser.parse(query))
"""
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
QUERIES = [rule["expr"] for rule in RULES] + [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]
]
SELECTOR = re.compile(r"([a-zA-Z_:]+)\{([^}]*)\}")
OF_PROMETHEUS = {"job", "instance", "le"}


@pytest.fixture(scope="module")
def exposed(server):
    """The names of the metrics of a server, each with its labels."""
    with httpx2.Client(base_url=server.url, auth=server.auth) as client:
        assert client.get("/api/v1/repositories").is_success
        s3_client(server).list_buckets()
        text = client.get("/metrics").text
    found: dict[str, set[str]] = {"up": set()}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            # of a metric that has counted nothing yet
            found.setdefault(line.split()[2], set())
        elif match := re.match(r"(\w+)(?:\{(.*)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r"(\w+)=", match[2] or ""))
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_metrics_and_labels_are_those_of_a_server(exposed, query):
    selectors = SELECTOR.findall(query)
    assert selectors
    for name, conditions in selectors:
        assert name in exposed
        labels = set(re.findall(r"(\w+)\s*=", conditions)) - OF_PROMETHEUS
        if exposed[name]:
            assert labels <= exposed[name]
        for named in re.findall(r'operation=~"([^"]+)"', conditions):
            assert set(named.split("|")) <= {each.id for each in (*OPERATIONS, *EXTENSIONS)}


def test_labels_by_which_values_are_summed_are_there(exposed):
    for query in QUERIES:
        grouped = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", query))))
        labels = set().union(*(exposed[name] for name, _ in SELECTOR.findall(query)))
        if labels:
            assert grouped - OF_PROMETHEUS <= labels


def test_reasons_are_those_of_the_page():
    page = (ROOT / "docs/monitoring.md").read_text("utf-8")
    for query in QUERIES:
        for named in re.findall(r'reason=~"([^"]+)"', query):
            for reason in named.split("|"):
                assert f"| `{reason}` |" in page


def test_each_alert_says_what_is_wrong_and_has_a_name_of_its_own():
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["labels"]["severity"] in {"critical", "warning"}
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="no parser of PromQL: `make deploy-tools`")
@pytest.mark.parametrize("broken", ["", "rate(up)", "sum by (job) rate(up[5m])"])
def test_a_parser_of_prometheus_understands_the_queries(broken):
    queries = [query.replace("$__rate_interval", "5m") for query in QUERIES]
    parsed = subprocess.run(
        [str(PYTHON), "-c", PARSE],
        input=json.dumps([*queries, *filter(None, [broken])]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (parsed.returncode == 0) == (not broken), parsed.stderr
    assert len(parsed.stdout.splitlines()) == len(queries)
