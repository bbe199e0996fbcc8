"""Names of actions and resources, which are lakeFS's."""

from __future__ import annotations

from collections import Counter

from anabranch.access.policies import permissions
from anabranch.access.policies.permissions import Action


def test_every_service_has_its_actions():
    services = Counter(action.partition(":")[0] for action in Action)
    assert services.pop("catalog") == 15  # as in lakeFS
    assert services == {"fs": 29, "auth": 26, "ci": 1, "retention": 4, "branches": 2, "pr": 3}


def test_a_constant_is_named_as_its_action():
    for action in Action:
        name = action.name.title().replace("_", "")
        assert action.value.partition(":")[2] == name


def test_names_of_resources():
    assert [
        permissions.repository_arn("r"),
        permissions.namespace_arn("s3://b/p"),
        permissions.object_arn("r", "a/b:c"),
        permissions.branch_arn("r", "dev:x"),
        permissions.tag_arn("r", "v1"),
        permissions.user_arn("u"),
        permissions.group_arn("g"),
        permissions.policy_arn("p"),
        permissions.external_principal_arn("arn:aws:iam::1:role/x"),
    ] == [
        "arn:lakefs:fs:::repository/r",
        "arn:lakefs:fs:::namespace/s3://b/p",
        "arn:lakefs:fs:::repository/r/object/a/b:c",
        "arn:lakefs:fs:::repository/r/branch/dev:x",
        "arn:lakefs:fs:::repository/r/tag/v1",
        "arn:lakefs:auth:::user/u",
        "arn:lakefs:auth:::group/g",
        "arn:lakefs:auth:::policy/p",
        "arn:lakefs:auth:::externalPrincipal/arn:aws:iam::1:role/x",
    ]
