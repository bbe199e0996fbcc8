"""Bodies of requests: an unknown field changes nothing, all fields of lakeFS's client are known."""

from __future__ import annotations

import inspect
import typing

import lakefs_sdk.api
import msgspec
import pydantic.v1
import pytest

from anabranch.rest.protocol.decoding import BodyDecoder
from anabranch.rest.table import OPERATIONS

BODIES = {operation.id: operation.body for operation in OPERATIONS if operation.body is not None}


def models_in(annotation):
    """Yields the models of lakeFS's client in an annotation."""
    if inspect.isclass(annotation) and issubclass(annotation, pydantic.v1.BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models_in(part)


def sdk_bodies():
    """Yields the operations of lakeFS's client that we have, with the models of their bodies."""
    ids = {name.lower(): name for name in BODIES}
    for api_class in vars(lakefs_sdk.api).values():
        if not inspect.isclass(api_class):
            continue
        for name, method in inspect.getmembers(api_class, inspect.isfunction):
            operation_id = ids.get(name.removesuffix("_with_http_info").replace("_", ""))
            if operation_id is None or not name.endswith("_with_http_info"):
                continue
            parameters = inspect.signature(method).parameters.values()
            for model in {found for each in parameters for found in models_in(each.annotation)}:
                yield operation_id, model


def filled(model):
    """Returns a JSON object with all fields of a model, and of the models in it."""
    values = {}
    for field in model.__fields__.values():
        inner = next(models_in(field.type_), None)
        value = "text" if inner is None else filled(inner)
        is_list = field.shape == pydantic.v1.fields.SHAPE_LIST
        values[field.alias] = [value] if is_list else value
    return values


SDK_BODIES = sorted(sdk_bodies(), key=str)


def test_the_client_of_lakefs_has_bodies():
    assert len(SDK_BODIES) > 30


@pytest.mark.parametrize(
    ("operation_id", "model"), SDK_BODIES, ids=[name for name, _ in SDK_BODIES]
)
def test_no_field_that_lakefs_sdk_sends_is_unknown(operation_id, model):
    fields = BodyDecoder(BODIES[operation_id])._unknown_fields
    unknown = []
    _collect(fields, "$", filled(model), unknown)
    assert unknown == []


def _collect(fields, path, value, unknown):
    names = fields._names_at(path)
    if isinstance(value, list):
        return _collect(fields, f"{path}[0]", value[0], unknown)
    if isinstance(value, dict) and names:
        unknown += [f"{path}.{name}" for name in value if name not in names]
        for name, inner in value.items():
            _collect(fields, f"{path}.{name}", inner, unknown)
    return None


@pytest.fixture
def changed(api, repository):
    """A repository whose branch `dev` is one commit ahead of `main`."""
    root = f"/repositories/{repository}"
    assert api.post(f"{root}/branches", json={"name": "dev", "source": "main"}).status_code == 201
    assert api.post(f"{root}/branches/dev/objects?path=a", content=b"1").status_code == 201
    assert api.post(f"{root}/branches/dev/commits", json={"message": "m"}).status_code == 201
    return root


def test_a_mistyped_dry_run_merges_nothing(api, changed):
    head = api.get(f"{changed}/branches/main").json()["commit_id"]
    response = api.post(f"{changed}/refs/dev/merge/main", json={"dryrun": True})
    assert response.status_code == 400
    assert response.json()["message"] == (
        "request body has an error: doesn't match schema #/components/schemas/Merge: "
        'Error at "/dryrun": property "dryrun" is unsupported'
    )
    assert response.headers["X-Anabranch-Hint"] == "Did you mean dry_run?"
    assert api.get(f"{changed}/branches/main").json()["commit_id"] == head


def test_a_mistyped_field_of_a_protection_rule_sets_no_rule(api, changed):
    rules = f"{changed}/settings/branch_protection"
    response = api.put(rules, json=[{"pattern": "main", "approvals": 1}])
    assert response.status_code == 400
    assert response.headers["X-Anabranch-Hint"] == "Did you mean required_approvals?"
    assert api.get(rules).json() == []


def test_a_mistyped_read_only_creates_no_repository(api):
    body = {"name": "locked-sea", "storage_namespace": "local://locked-sea", "readonly": True}
    response = api.post("/repositories", json=body)
    assert (response.status_code, response.headers["X-Anabranch-Hint"]) == (
        400,
        "Did you mean read_only?",
    )
    assert api.get("/repositories/locked-sea").status_code == 404


@pytest.mark.parametrize("operation_id", sorted(BODIES))
def test_every_body_refuses_an_unknown_field(operation_id):
    type_ = BODIES[operation_id]
    text = b'[{"zebra":1}]' if typing.get_origin(type_) is list else b'{"zebra":1}'
    with pytest.raises(msgspec.ValidationError, match="unknown field `zebra`"):
        msgspec.json.decode(text, type=type_)
