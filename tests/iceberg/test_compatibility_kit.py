"""Iceberg's own compatibility kit for REST catalogs, from Maven, against a server."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

POM = Path(__file__).parents[2] / "tools" / "iceberg" / "pom.xml"
FOREIGN_LOCATIONS = {
    "testCompleteCreateOrReplaceTransactionReplace",
    "testCompleteReplaceTransaction",
    "createViewWithCustomMetadataLocation",
    "createAndReplaceViewWithLocation",
    "updateViewLocation",
}
"""Tests that put files of a table where its client wants them."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven")
def test_the_kit_passes_but_for_locations_of_clients(lake, tmp_path):
    server = lake.server
    settings = {
        "uri": f"{server.url}/iceberg",
        "credential": ":".join(server.auth),
        "warehouse": f"lakefs://{lake.name}/main",
        "oauth2-server-uri": f"{server.url}/iceberg/v1/oauth/tokens",
        "header.X-Iceberg-Access-Delegation": "vended-credentials",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    }
    switches = ("requires-namespace-create", "supports-serverside-retry")
    options = {"rck.local": "false", "rck.overrides-requested-location": "true"}
    options |= {f"rck.{name}": "true" for name in switches}
    variables = {
        "CATALOG_" + name.upper().replace("-", "__").replace(".", "_"): text
        for name, text in settings.items()
    }
    arguments = " ".join(f"-D{name}={text}" for name, text in options.items())
    assert lake.http.delete(lake.path("main", "/namespaces/city")).status_code == 204
    subprocess.run(
        [
            *("mvn", "-q", "-B", "-f", POM, "test"),
            f"-Dkit.output={tmp_path / 'kit'}",
            "-Dtest=RESTCompatibilityKit*Tests",
            f"-DargLine={arguments}",
        ],
        env={**os.environ, **variables},
        check=False,
        timeout=1000,
    )
    failed, passed = set(), 0
    for report in (tmp_path / "kit" / "surefire-reports").glob("*.xml"):
        for case in ET.parse(report).iter("testcase"):  # noqa: S314  Maven has written it
            if case.find("failure") is not None or case.find("error") is not None:
                failed.add(case.get("name"))
            elif case.find("skipped") is None:
                passed += 1
    assert failed == FOREIGN_LOCATIONS
    assert passed >= 130
