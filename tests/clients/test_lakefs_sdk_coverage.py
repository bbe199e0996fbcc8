"""Every operation that lakefs-sdk has is called by a test of this folder, or is listed here."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import lakefs_sdk
import pytest

from anabranch.rest.table import OPERATIONS

pytestmark = pytest.mark.wiring  # no service is needed to read what is tested

TESTED_ELSEWHERE = {
    "external_principal_login": "tests/server/access/test_external_principals.py: needs AWS",
    "sts_login": "tests/server/access/test_single_sign_on.py: needs a provider",
}
"""Operations that tests call without the package, with the reason."""

NOT_IN_THE_PACKAGE = {"getGroupACL", "setGroupACL", "getAuthCapabilities", "oauthCallback"}
"""Operations of lakeFS 1.84 that the package 1.88 has dropped."""


def snake_case(name):
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", words).lower()


DECLARED = {snake_case(operation.id): operation for operation in OPERATIONS}
SDK_OPERATIONS = {
    name
    for api, cls in vars(lakefs_sdk).items()
    if api.endswith("Api") and inspect.isclass(cls)
    for name, function in vars(cls).items()
    if inspect.isfunction(function) and not name.startswith("_")
    if not name.endswith("_with_http_info")
}
TESTS = "\n".join(path.read_text() for path in sorted(Path(__file__).parent.rglob("*.py")))


def is_called(operation):
    called = rf"(_api|\bapi|\binternal|\bimports)\.{operation}(_with_http_info)?\b"
    return re.search(called, TESTS) is not None


def test_the_package_and_the_table_have_the_same_operations():
    dropped = {snake_case(name) for name in NOT_IN_THE_PACKAGE}
    assert DECLARED.keys() - dropped == SDK_OPERATIONS
    assert len(SDK_OPERATIONS) == 130


def test_each_operation_is_called_by_a_test():
    needed = (DECLARED.keys() & SDK_OPERATIONS) - TESTED_ELSEWHERE.keys()
    assert [name for name in sorted(needed) if not is_called(name)] == []


def test_what_is_listed_exists():
    assert TESTED_ELSEWHERE.keys() <= SDK_OPERATIONS


def test_a_call_is_recognized():
    assert is_called("merge_into_branch")
    assert is_called("upload_part_copy")
    assert not is_called("object")
