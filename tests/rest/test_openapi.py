"""The OpenAPI document is valid and complete, and a running server conforms to it."""

from __future__ import annotations

import contextlib
import json
from collections import Counter

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from support.session.sizes import sized

from anabranch.rest.openapi import openapi
from anabranch.rest.protocol.operation import Access
from anabranch.rest.table import EXTENSIONS, OPERATIONS

ALL = (*OPERATIONS, *EXTENSIONS)
DOCUMENT = json.loads(json.dumps(openapi(ALL)))
BY_ID = {operation.id: operation for operation in ALL}

# these end the test's own login, or its server's patience
LEFT_OUT = {"deleteUser", "deleteCredentials"}


def described():
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def test_the_document_is_valid_openapi():
    schemathesis.openapi.from_dict(DOCUMENT).validate()


def test_the_document_describes_every_operation():
    assert {operation["operationId"] for _, _, operation in described()} == set(BY_ID)
    for path, method, operation in described():
        declared = BY_ID[operation["operationId"]]
        assert (path, method) == (declared.path, declared.method.lower())
        assert operation["security"] or declared.permission is Access.NO_AUTH
        assert "default" in operation["responses"]
        if declared.handler is not None:
            assert str(declared.status) in operation["responses"]


def test_every_reference_resolves():
    def references(value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for item in value.values():
                yield from references(item)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    for reference in references(DOCUMENT):
        target = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        assert target


def explore(server, repository, examples: int = 0) -> Counter[int]:
    """Calls every operation with that many valid and invalid requests, by default one that is
    either; returns how often each status occurred.
    """
    statuses: Counter[int] = Counter()
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.config.base_url = server.api
    names = st.sampled_from([repository, "no-such", "main", "a"]) | st.text(max_size=5)

    kinds = tuple(schemathesis.GenerationMode)
    step = 1 if examples else sized(6, weekly=1)
    for number, result in enumerate(schema.get_all_operations()):
        if number % step:
            continue
        operation = result.ok()
        if operation.definition.raw["operationId"] in LEFT_OUT:
            continue
        for mode in kinds if examples else (kinds[number % len(kinds)],):
            strategy = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=examples or 1,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy, data=st.data())
            def call(case, data):
                for name in case.path_parameters or {}:
                    if data.draw(st.booleans()):
                        case.path_parameters[name] = data.draw(names)
                response = case.call(auth=server.auth, timeout=20)
                statuses[response.status_code] += 1
                assert response.status_code < 500 or response.status_code == 501, response.text

            # what takes no parameters cannot be called wrongly
            with contextlib.suppress(Unsatisfiable):
                call()
    return statuses


def test_no_request_causes_an_internal_error(server, repository):
    statuses = explore(server, repository)
    assert {200, 204, 400, 404} <= set(statuses)
    assert statuses.total() > sized(15, weekly=100)
    assert "Traceback" not in server.log.read_text()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_no_request_causes_an_internal_error_in_a_long_run(server, repository):
    explore(server, repository, 20)
    assert "Traceback" not in server.log.read_text()
    assert httpx2.get(f"{server.url}/_health").status_code == 200
