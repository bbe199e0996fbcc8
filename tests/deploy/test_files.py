"""The files of `deploy/`: nothing in them is called what it is not called."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx2
import pytest
import yaml

from anabranch.cli.main import SECTIONS
from anabranch.server.config.field import declared, variable
from anabranch.server.config.loader import load_settings

PROJECT = Path(__file__).parents[2]
DEPLOY = PROJECT / "deploy"
PAGE = (PROJECT / "docs" / "deploy.md").read_text("utf-8")
PINS = (PROJECT / "constraints.txt").read_text("utf-8")
VARIABLES = {variable(name) for name in declared()}
GIVEN = re.compile(r"\$\{(\w+)\}")


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def kubernetes():
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
    return {document["kind"]: document for document in documents}


def settings_from(tmp_path, environment):
    assert environment.keys() <= VARIABLES
    loaded = load_settings({"data": str(tmp_path)}, environment, None, folder=tmp_path)
    assert loaded.warnings == ()
    return loaded.settings


def test_compose_sets_settings_that_there_are(tmp_path):
    environment = compose()["services"]["one"]["environment"]
    filled = {name: GIVEN.sub("secret", value) for name, value in environment.items()}
    settings = settings_from(tmp_path, filled)
    assert (settings.database.type, settings.blockstore.type) == ("postgres", "s3")
    assert settings.workers == 2


def test_compose_is_given_what_the_page_names():
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    (block,) = re.findall(r"^```sh\n((?:\w+=\.\.\.\n)+)```$", PAGE, re.MULTILINE)
    assert set(GIVEN.findall(text)) == {line.partition("=")[0] for line in block.splitlines()}


def test_compose_starts_existing_commands():
    services = compose()["services"]
    for service in services.values():
        for name in service.get("depends_on", ()):
            assert name in services
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source in compose()["volumes"] or (DEPLOY / source).is_file()
    named = set(re.findall(r"server (\w+):8000 ", (DEPLOY / "nginx.conf").read_text("utf-8")))
    assert named == {"one", "two"} <= services.keys()
    assert services["migrate"]["command"] in commands()


def test_the_proxy_is_trusted_in_each_of_the_files(tmp_path):
    """Else all of its clients are one: 60 wrong secrets of one lock out the others."""
    (subnet,) = compose()["networks"]["default"]["ipam"]["config"]
    lines = (DEPLOY / "environment").read_text("utf-8").splitlines()
    on_this_machine = dict(line.split("=", 1) for line in lines if line.startswith("ANABRANCH_"))
    environments = {
        subnet["subnet"]: compose()["services"]["one"]["environment"],
        "10.0.0.0/8": kubernetes()["ConfigMap"]["data"],
        "127.0.0.1": on_this_machine,
    }
    for address, environment in environments.items():
        given = {name: GIVEN.sub("secret", value) for name, value in environment.items()}
        settings = settings_from(tmp_path, given)
        assert address in settings.http.trusted_proxies


def commands():
    return {word.name for _, words in SECTIONS for word in words}


def test_kubernetes_sets_settings_that_there_are(tmp_path):
    settings = settings_from(tmp_path, kubernetes()["ConfigMap"]["data"])
    assert (settings.database.type, settings.blockstore.type) == ("postgres", "s3")
    named = set(re.findall(r"`(ANABRANCH_\w+)`", PAGE))
    assert named
    assert named <= VARIABLES
    settings_from(tmp_path, dict.fromkeys(named, "x") | kubernetes()["ConfigMap"]["data"])


def test_kubernetes_uses_existing_commands_and_paths(server):
    pod = kubernetes()["Deployment"]["spec"]["template"]["spec"]
    assert {container["args"][0] for container in (*pod["containers"], *pod["initContainers"])} <= (
        commands()
    )
    (container,) = pod["containers"]
    for probe in ("readinessProbe", "livenessProbe"):
        path = container[probe]["httpGet"]["path"]
        assert httpx2.get(server.url + path).status_code == 200
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes


@pytest.mark.parametrize("setting", re.findall(r"`((?:\w+\.)+\w+)`", PAGE))
def test_settings_on_the_page_are_there(setting):
    if setting.endswith((".md", ".py", ".conf", ".db", ".yaml")):
        return
    assert setting in declared() or is_value_of_the_chart(setting)


def is_value_of_the_chart(name):
    values = yaml.safe_load((DEPLOY / "helm/anabranch/values.yaml").read_text("utf-8"))
    for part in name.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values is not None


def test_spark_image_has_the_tested_version_of_spark_and_existing_extras():
    text = (DEPLOY / "spark" / "Dockerfile").read_text("utf-8")
    (tested,) = re.findall(r"^pyspark==(.+)$", PINS, re.MULTILINE)
    assert re.findall(r"^ARG SPARK=([\d.]+)-", text, re.MULTILINE) == [tested]
    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", text)
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()


def test_the_image_starts_the_server():
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert set(re.findall(r"ANABRANCH_\w+(?==)", text)) <= VARIABLES
    assert (PROJECT / "constraints.txt").is_file()
    assert 'CMD ["serve"]' in text


def test_the_health_check_of_the_image_tells_whether_the_server_answers(server):
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    (words,) = re.findall(r"^HEALTHCHECK [^\[]*CMD (\[.*\])$", text, re.MULTILINE)
    program, *rest = json.loads(words)
    assert program == "python"
    for url, code in ((server.url, 0), (f"{server.url}/nothing", 1)):
        command = [each.replace("http://127.0.0.1:8000", url) for each in rest]
        ran = subprocess.run([sys.executable, *command], capture_output=True, check=False)
        assert ran.returncode == code, ran.stderr


def test_the_servers_of_compose_write_to_their_folders_only():
    for name in ("one", "two", "migrate"):
        service = compose()["services"][name]
        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]
