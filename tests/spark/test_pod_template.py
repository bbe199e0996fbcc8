"""The template of executors' pods in `deploy/spark`, as Spark loads it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.timeout(600)

TEMPLATE = Path(__file__).parents[2] / "deploy" / "spark" / "executor.yaml"


def load(spark, path):
    """Returns the pod and the container that Spark takes from a template. No cluster is needed."""
    jvm = spark.sparkContext._jvm
    client = jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()
    try:
        return jvm.org.apache.spark.deploy.k8s.KubernetesUtils.loadPodFromTemplate(
            client,
            str(path),
            jvm.scala.Option.apply(None),
            spark.sparkContext._jsc.sc().conf(),
        )
    finally:
        client.close()


@pytest.mark.slow  # a file that is rarely changed
def test_spark_loads_the_template_of_executors(spark):
    loaded = load(spark, TEMPLATE)
    container, spec = loaded.container(), loaded.pod().getSpec()
    assert container.getName() == "executor"
    assert spec.getSecurityContext().getRunAsUser() == 185
    (mount,), (volume,) = container.getVolumeMounts(), spec.getVolumes()
    assert mount.getName() == volume.getName() == "scratch"
    (variable,) = container.getEnv()
    assert (variable.getName(), variable.getValue()) == ("TMPDIR", mount.getMountPath())
    assert volume.getEmptyDir().getSizeLimit().toString() == "20Gi"


def test_template_has_no_unknown_fields(spark):
    """The classes of the client keep these apart."""
    loaded = load(spark, TEMPLATE)
    spec = loaded.pod().getSpec()
    parts = [loaded.pod(), spec, spec.getSecurityContext(), *spec.getVolumes()]
    parts += [loaded.container(), loaded.container().getSecurityContext()]
    assert [dict(part.getAdditionalProperties()) for part in parts] == [{}] * len(parts)


def test_unknown_field_would_be_found(spark, tmp_path):
    template = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    template["spec"]["volume"] = template["spec"].pop("volumes")
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump(template))
    assert load(spark, path).pod().getSpec().getAdditionalProperties()
