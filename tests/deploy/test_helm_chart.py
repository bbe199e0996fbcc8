"""What Helm makes of the chart. `make deploy-tools` builds Helm and installs a validator that knows
the types of Kubernetes.
"""

from __future__ import annotations

import json
import subprocess

import pytest
import yaml
from support.checkout import ROOT
from support.session.environments import cache_folder

CHART = ROOT / "deploy/helm/anabranch"
TOOLS = cache_folder("deploy-tools")
HELM, VALIDATE = TOOLS / "helm", TOOLS / "validators/bin/kubernetes-validate"
KUBERNETES = "1.31"
FULL = {
    "trustedProxies": ["10.0.0.0/8", "fd00::/8"],
    "secret": {"name": "keys", "external": {"enabled": True, "store": "vault", "key": "lake"}},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/lake"}},
    "ingress": {
        "enabled": True,
        "host": "lake.example.com",
        "s3Hosts": ["s3.lake.example.com", "*.s3.lake.example.com"],
        "tlsSecret": "lake-tls",
        "className": "nginx",
    },
    "networkPolicy": {
        "enabled": True,
        "from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}],
    },
    "image": {"tag": "1.2.3", "pullSecrets": [{"name": "registry"}]},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "lake", "operator": "Exists"}],
    "podAnnotations": {"note": 'a "quoted" one'},
    "settings": {"ANABRANCH_GATEWAYS_S3_DOMAIN_NAME": "s3.lake.example.com"},
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HELM.exists(), reason="Helm is not built: `make deploy-tools`"),
]


def helm(*arguments, values=None, tmp_path=None):
    command = [str(HELM), *arguments, "--kube-version", KUBERNETES]
    if values is not None:
        file = tmp_path / "values.json"
        file.write_text(json.dumps(values))
        command += ["--values", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rendered(tmp_path, values, release="lake"):
    """Returns the documents that Helm makes, by kind, and their text."""
    ran = helm("template", release, str(CHART), values=values, tmp_path=tmp_path)
    assert ran.returncode == 0, ran.stderr
    documents = [document for document in yaml.safe_load_all(ran.stdout) if document]
    assert len({document["kind"] for document in documents}) == len(documents)
    return {document["kind"]: document for document in documents}, ran.stdout


@pytest.mark.parametrize("values", [{}, FULL], ids=["default", "full"])
def test_helm_and_kubernetes_find_nothing_wrong(tmp_path, values):
    linted = helm("lint", "--strict", str(CHART), values=values, tmp_path=tmp_path)
    assert linted.returncode == 0, linted.stdout
    _, text = rendered(tmp_path, values)
    file = tmp_path / "rendered.yaml"
    # of another project, so that Kubernetes has no type of it
    parts = [part for part in text.split("\n---\n") if "kind: ExternalSecret" not in part]
    file.write_text("\n---\n".join(parts))
    checked = subprocess.run(
        [str(VALIDATE), "--strict", "--kubernetes-version", KUBERNETES, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_servers_are_those_of_the_file_without_helm(tmp_path):
    documents, _ = rendered(tmp_path, {})
    plain = yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text("utf-8"))
    expected = {document["kind"]: document for document in plain}["Deployment"]["spec"]
    made = documents["Deployment"]["spec"]
    assert made["replicas"] == expected["replicas"]
    assert made["strategy"] == expected["strategy"]
    pod, other = made["template"]["spec"], expected["template"]["spec"]
    for name in ("terminationGracePeriodSeconds", "volumes"):
        assert pod[name] == other[name]
    (server,), (other_server,) = pod["containers"], other["containers"]
    for name in ("args", "ports", "readinessProbe", "livenessProbe", "resources", "lifecycle"):
        assert server[name] == other_server[name]
    for container in (server, *pod["initContainers"]):
        assert container["volumeMounts"] == other_server["volumeMounts"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["image"] == "anabranch:0.1.0"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False


def test_everything_selects_the_same_pods_and_bears_the_name_of_the_release(tmp_path):
    documents, _ = rendered(tmp_path, FULL)
    labels = documents["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for selector in (
        documents["Deployment"]["spec"]["selector"]["matchLabels"],
        documents["Service"]["spec"]["selector"],
        documents["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        documents["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):
        assert selector == {
            "app.kubernetes.io/name": "anabranch",
            "app.kubernetes.io/instance": "lake",
        }
        assert selector.items() <= labels.items()
    names = {kind: document["metadata"]["name"] for kind, document in documents.items()}
    assert names.pop("ExternalSecret") == "keys"
    assert set(names.values()) == {"lake-anabranch"}
    other, _ = rendered(tmp_path, {}, release="anabranch")
    assert {document["metadata"]["name"] for document in other.values()} == {"anabranch"}


def test_values_reach_what_they_are_for(tmp_path):
    documents, _ = rendered(tmp_path, FULL)
    settings = documents["ConfigMap"]["data"]
    assert settings["ANABRANCH_HTTP_TRUSTED_PROXIES"] == "10.0.0.0/8,fd00::/8"
    assert settings["ANABRANCH_GATEWAYS_S3_DOMAIN_NAME"] == "s3.lake.example.com"
    assert settings["ANABRANCH_DATABASE_TYPE"] == "postgres"
    hosts = ["lake.example.com", "s3.lake.example.com", "*.s3.lake.example.com"]
    ingress = documents["Ingress"]["spec"]
    assert [rule["host"] for rule in ingress["rules"]] == ingress["tls"][0]["hosts"] == hosts
    secret = documents["ExternalSecret"]["spec"]
    assert secret["dataFrom"] == [{"extract": {"key": "lake"}}]
    assert secret["secretStoreRef"] == {"name": "vault", "kind": "ClusterSecretStore"}
    (server,) = documents["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert server["envFrom"][0] == {"secretRef": {"name": "keys"}}
    assert server["image"] == "anabranch:1.2.3"
    assert documents["NetworkPolicy"]["spec"]["ingress"][0]["from"] == FULL["networkPolicy"]["from"]


def test_a_change_of_settings_restarts_the_servers(tmp_path):
    checksums = set()
    for level in ("INFO", "DEBUG"):
        documents, _ = rendered(tmp_path, {"settings": {"ANABRANCH_LOGGING_LEVEL": level}})
        template = documents["Deployment"]["spec"]["template"]
        checksums.add(template["metadata"]["annotations"]["checksum/settings"])
    assert len(checksums) == 2


def test_what_is_off_is_left_out(tmp_path):
    off = {
        "podDisruptionBudget": {"enabled": False},
        "serviceAccount": {"create": False, "name": "mine"},
        "metrics": {"scrape": False},
    }
    documents, text = rendered(tmp_path, off)
    assert set(documents) == {"ConfigMap", "Deployment", "Service"}
    assert documents["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"] == "mine"
    assert "prometheus.io" not in text


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"replica": 2}, "replica"),
        ({"settings": {"ANABRANCH_AUTH_ENCRYPT_SECRET_KEY": "x"}}, "ANABRANCH_AUTH_ENCRYPT"),
        ({"ingress": {"enabled": True}}, "host"),
    ],
)
def test_helm_refuses_what_the_schema_refuses(tmp_path, values, problem):
    ran = helm("template", "lake", str(CHART), values=values, tmp_path=tmp_path)
    assert ran.returncode != 0
    assert problem in ran.stderr
