"""Images: who can read them, and the objects that they keep alive."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    image_arn,
    object_arn,
    repository_arn,
)
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.errors import Conflict, Denied, NotFound
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.pipelines.images.assemble import ImageRequest
from anabranch.rest.protocol.operation import Need
from anabranch.rest.protocol.operation_handler import required_permissions
from anabranch.rest.table import OPERATIONS
from anabranch.s3.permissions import required_permissions as s3_permissions_of
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.table import OPERATIONS as S3_OPERATIONS
from anabranch.testing.lake import Clock, lake_in

ADMIN = Actor(username="admin", statements=(ALLOW_ALL,))


@pytest.fixture
def lake(tmp_path):
    with lake_in(tmp_path, Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        for path in ("open/a", "open/b", "secret/c"):
            lake.objects.upload("sea", "main", path, [b"x"])
        lake.commits.commit("sea", "main", committer="jane", message="m")
        yield lake


def build(lake, tag, text, actor=ADMIN):
    request = ImageRequest(tag=tag, lakefile=parse_lakefile(text), text=text, creator="jane")
    image = lake.builds.build(request, actor, wait_seconds=120).image
    assert image is not None
    return image


def user(*statements):
    return Actor(
        username="ada",
        statements=tuple(statement(action, resource) for action, resource in statements),
    )


def statement(action, resource):
    effect = Effect.DENY if action.startswith("!") else Effect.ALLOW
    return Statement(effect, (action.strip("!"),), (resource,))


CREATE = ("fs:CreateImage", "arn:lakefs:fs:::image/ada-*")
LIST = ("fs:ListObjects", "arn:lakefs:fs:::repository/sea")
READ_OPEN = ("fs:ReadObject", "arn:lakefs:fs:::repository/sea/object/open/*")
READ_ALL = ("fs:ReadObject", "arn:lakefs:fs:::repository/sea/object/*")


class TestBuilding:
    @pytest.fixture(autouse=True)
    def _first(self, lake):
        build(lake, "first", "FROM lakefs://sea/main")

    @pytest.mark.parametrize(
        ("text", "statements"),
        [
            ("ADD lakefs://sea/main/open/ a", [CREATE, LIST, READ_OPEN]),
            ("ADD lakefs://sea/main/open/a a", [CREATE, LIST, READ_OPEN]),
            ("FROM lakefs://sea/main", [CREATE, LIST, READ_ALL]),
            (
                "FROM lakefs://image:first",
                [CREATE, ("fs:ReadImage", "arn:lakefs:fs:::image/first")],
            ),
        ],
    )
    def test_who_may_read_all_sources_builds(self, lake, text, statements):
        build(lake, "ada-1", text, user(*statements))
        for missing in range(len(statements)):
            rest = [each for number, each in enumerate(statements) if number != missing]
            with pytest.raises(Denied):
                build(lake, "ada-2", text, user(*rest))

    @pytest.mark.parametrize(
        ("tag", "text", "statements"),
        [
            ("other", "ADD lakefs://sea/main/open/ a", [CREATE, LIST, READ_OPEN]),
            ("ada-1", "ADD lakefs://sea/main/secret/ a", [CREATE, LIST, READ_OPEN]),
            ("ada-1", "FROM lakefs://sea/main", [CREATE, LIST, READ_OPEN]),
            ("ada-1", "FROM lakefs://image:first", [CREATE, LIST, READ_ALL]),
            ("ada-1", "ADD local:///data/ a", [CREATE, LIST, READ_ALL]),
            ("ada-1", "FROM lakefs://image/first~1", [CREATE, ("fs:ReadImage", "*")]),
            (
                "ada-1",
                "FROM lakefs://sea/main",
                [CREATE, LIST, READ_ALL, ("!fs:ReadObject", "arn:lakefs:fs:::*/object/secret/*")],
            ),
            (
                "ada-1",
                "ADD lakefs://sea/main/open/ a",
                [CREATE, LIST, ("fs:ReadObject", "arn:lakefs:fs:::repository/sea/object/open/?")],
            ),
        ],
    )
    def test_other_users_cannot_read_the_image(self, lake, tag, text, statements):
        request = ImageRequest(tag=tag, lakefile=parse_lakefile(text), text=text, creator="ada")
        with pytest.raises(Denied, match="insufficient permissions"):
            lake.builds.build(request, user(*statements), wait_seconds=0)
        with pytest.raises(Denied, match="insufficient permissions"):
            lake.builds.resolve(request, user(*statements))
        assert lake.images.find(tag) is None

    def test_denial_on_other_objects_has_no_effect(self, lake):
        denied = ("!fs:ReadObject", "arn:lakefs:fs:::repository/sea/object/secret/*")
        build(lake, "ada-1", "ADD lakefs://sea/main/open/ a", user(CREATE, LIST, READ_ALL, denied))


def test_the_first_image_attaches_a_namespace(lake):
    allowed = [CREATE, LIST, READ_ALL]
    text = "FROM lakefs://sea/main"
    with pytest.raises(Denied):
        build(lake, "ada-1", text, user(*allowed))
    allowed.append(("fs:AttachStorageNamespace", "arn:lakefs:fs:::namespace/local://data/image"))
    build(lake, "ada-1", text, user(*allowed))


def test_who_may_read_an_image_reads_it_as_a_repository(lake):
    build(lake, "v1", "FROM lakefs://sea/main")
    build(lake, "v2", "FROM lakefs://sea/main")
    reader = user(("fs:ReadImage", image_arn("v1")))
    read = Permission(Action.READ_OBJECT, object_arn("image", "open/a"))
    listing = Permission(Action.LIST_OBJECTS, repository_arn("image"))
    for permission in (read, listing):
        authorize(reader, [lake.images.permission_for_reading(permission, "image", "v1")])
        for reference in ("v2", "v1~1", "main", "", lake.images.get("v1").commit_id):
            with pytest.raises(Denied):
                authorize(
                    reader, [lake.images.permission_for_reading(permission, "image", reference)]
                )
    described = Permission(Action.READ_REPOSITORY, repository_arn("image"))
    authorize(reader, [lake.images.permission_for_reading(described, "image", "")])
    for permission, repository in (
        (Permission(Action.WRITE_OBJECT, object_arn("image", "a")), "image"),
        (Permission(Action.READ_OBJECT, object_arn("sea", "open/a")), "sea"),
    ):
        with pytest.raises(Denied):
            authorize(reader, [lake.images.permission_for_reading(permission, repository, "v1")])


def test_all_gateways_check_the_image_permission(lake):
    """Every operation that reads an image needs only the permission to read it."""
    build(lake, "v1", "FROM lakefs://sea/main")
    reader = user(("fs:ReadImage", image_arn("v1")))
    services = SimpleNamespace(catalog=lake)
    reading = {"getObject", "headObject", "statObject", "listObjects", "getUnderlyingProperties"}
    params = SimpleNamespace(repository="image", ref="v1", path="open/a")
    for operation in OPERATIONS:
        if operation.id in reading | {"getRepository"}:
            needs = operation.permission
            assert isinstance(needs, tuple)
            assert all(isinstance(need, Need) for need in needs)
            call = SimpleNamespace(services=services, params=params, actor=reader)
            authorize(reader, required_permissions(needs, call))
    address = Address.of("image", "v1/open/a")
    call = SimpleNamespace(
        services=services, address=address, query={"prefix": "v1/"}, header=lambda _: ""
    )
    found = [op for op in S3_OPERATIONS if op.id in {"GetObject", "HeadObject", "ListObjectsV2"}]
    assert len(found) == 3
    for s3_operation in found:
        authorize(reader, s3_permissions_of(s3_operation.permission, call))


def test_writable_repository_may_have_the_name_of_images(lake):
    lake.repositories.create("image", "local://somebody")
    lake.tags.create("image", "v1", "main")
    permission = Permission(Action.READ_OBJECT, object_arn("image", "a"))
    assert lake.images.permission_for_reading(permission, "image", "v1") == permission
    assert lake.images.list(amount=1).items == []
    with pytest.raises(NotFound):
        lake.images.get("v1")
    with pytest.raises(Conflict, match="the repository image is writable"):
        build(lake, "v1", "FROM lakefs://sea/main")
    lake.repositories.delete("image")


class TestHolding:
    def test_repository_cannot_be_deleted_while_images_reference_it(self, lake):
        build(lake, "v1", "ADD lakefs://sea/main/open/ a")
        build(lake, "v2", "FROM lakefs://image:v1")
        with pytest.raises(Conflict, match="images reference objects of sea: v1, v2"):
            lake.repositories.delete("sea")
        lake.images.delete("v1")
        with pytest.raises(Conflict, match="images reference objects of sea: v2"):
            lake.repositories.delete("sea")
        lake.images.delete("v2")
        lake.repositories.delete("sea")

    def test_another_of_the_same_name_is_free(self, lake):
        build(lake, "v1", "FROM lakefs://sea/main")
        lake.repositories.delete("sea", force=True)
        lake.repositories.create("sea", "local://other-sea")
        lake.repositories.delete("sea")


def last_of_images(lake):
    return lake.operations.list("image", amount=1).items[0]


def test_deleted_images_return_to_those_who_may_build_them(lake):
    first = build(lake, "a", "ADD lakefs://sea/main/open/ a")
    lake.images.delete("a")
    deleted = last_of_images(lake)
    for missing in ("fs:CreateImage", "fs:ReadImage"):
        with pytest.raises(Denied):
            lake.operations.undo("image", deleted.id, actor=maker_without(missing))
    lake.operations.undo("image", deleted.id, actor=MAKER)
    assert lake.images.get("a").commit_id == first.commit_id
    returned = last_of_images(lake)
    with pytest.raises(Denied):
        lake.operations.undo("image", returned.id, actor=maker_without("fs:DeleteImage"))
    lake.operations.undo("image", returned.id, actor=MAKER)
    assert lake.images.find("a") is None


def test_a_repository_of_a_user_that_is_called_image_has_no_images(lake):
    lake.repositories.create("image", "local://mine")
    lake.tags.create("image", "a", "main")
    lake.tags.delete("image", "a")
    deleted = last_of_images(lake)
    assert deleted.id not in [
        each.id for each in lake.operations.list("image", amount=9, actor=MAKER).items
    ]
    with pytest.raises(Denied):
        lake.operations.undo("image", deleted.id, actor=MAKER)


def maker_without(action):
    return user(*(pair for pair in MAKES_IMAGES if pair[0] != action))


MAKES_IMAGES = [
    (f"fs:{word}Image", "arn:lakefs:fs:::image/a") for word in ("Create", "Read", "Delete")
]
MAKER = user(*MAKES_IMAGES)
