"""The values of the Helm chart: their schema refuses what the chart or servers would not take."""

from __future__ import annotations

import copy
import json
import tomllib
from typing import get_args

import jsonschema_rs
import pytest
import yaml
from support.checkout import ROOT

from anabranch.model.secret import Secret
from anabranch.server.config.field import declared, variable
from anabranch.server.config.loader import load_settings

CHART = ROOT / "deploy/helm/anabranch"
SCHEMA = json.loads((CHART / "values.schema.json").read_text("utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)


def with_value(path, value):
    """Returns the default values with another one at a dotted path."""
    values = copy.deepcopy(VALUES)
    *folders, name = path.split(".")
    place = values
    for folder in folders:
        place = place[folder]
    place[name] = value
    return values


def test_the_default_values_are_valid_and_each_is_described_by_the_schema():
    VALIDATOR.validate(VALUES)
    assert VALUES.keys() == SCHEMA["properties"].keys() - {"global"}
    for name, value in VALUES.items():
        described = SCHEMA["properties"][name]
        if described.get("additionalProperties") is False:
            assert value.keys() == described["properties"].keys()


def test_the_default_settings_are_those_of_a_server(tmp_path):
    environment = VALUES["settings"]
    assert environment.keys() <= {variable(name) for name in declared()}
    loaded = load_settings({"data": str(tmp_path)}, environment, None, folder=tmp_path)
    assert loaded.warnings == ()
    assert (loaded.settings.database.type, loaded.settings.blockstore.type) == ("postgres", "s3")


def test_secrets_are_no_settings():
    secrets = {
        variable(name)
        for name, setting in declared().items()
        if Secret in (setting.type, *get_args(setting.type))
    }
    assert secrets
    for name in secrets:
        assert not VALIDATOR.is_valid(with_value(f"settings.{name}", "x")), name


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replicas", 0),
        ("replicas", "3"),
        ("replica", 3),
        ("image.repository", ""),
        ("image.version", "1"),
        ("image.pullPolicy", "always"),
        ("image.pullSecrets", ["registry"]),
        ("settings.ANABRANCH_WORKERS", 2),
        ("settings.PGPASSWORD", "x"),
        ("trustedProxies", ["proxy.example.com"]),
        ("trustedProxies", "10.0.0.0/8"),
        ("secret.name", ""),
        ("secret.external.enabled", True),
        ("secret.external.storeKind", "Vault"),
        ("secret.external.refreshInterval", "hourly"),
        ("serviceAccount.annotations", {"a": 1}),
        ("service.port", 70_000),
        ("service.type", "External"),
        ("ingress.enabled", True),
        ("ingress.enabled", "yes"),
        ("storage.cache", "20GB"),
        ("podDisruptionBudget.maxUnavailable", 0),
        ("networkPolicy.from", [""]),
        ("terminationGracePeriodSeconds", 5),
        ("nodeSelector", {"ssd": True}),
    ],
)
def test_values_that_would_not_work_are_refused(path, value):
    assert not VALIDATOR.is_valid(with_value(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replicas", 1),
        ("trustedProxies", ["10.0.0.0/8", "192.0.2.7", "fd00::/8"]),
        ("ingress", VALUES["ingress"] | {"enabled": True, "host": "lake.example.com"}),
        (
            "secret.external",
            VALUES["secret"]["external"] | {"enabled": True, "store": "vault", "key": "lake"},
        ),
        ("storage.cache", "1.5Ti"),
    ],
)
def test_values_that_work_are_accepted(path, value):
    VALIDATOR.validate(with_value(path, value))


def test_the_chart_has_the_version_of_the_project():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert chart["version"] == chart["appVersion"] == project["version"]
