"""The three lakes have each method of the interface, with its arguments and their defaults."""

from __future__ import annotations

import inspect

import pytest

import anabranch
from anabranch import aio
from anabranch.lake import objects, operations, references, workspaces
from anabranch.remote.asynchronous.lake import AsyncLake
from anabranch.remote.lake import RemoteLake

from .lakes import PARTS

PROTOCOLS = {
    "repositories": references.Repositories,
    "branches": references.Branches,
    "tags": references.Tags,
    "commits": references.Commits,
    "refs": references.Refs,
    "objects": objects.Objects,
    "workspaces": workspaces.Workspaces,
    "operations": operations.Operations,
}
METHODS = [
    (part, name)
    for part, protocol in PROTOCOLS.items()
    for name, value in vars(protocol).items()
    if inspect.isfunction(value) and not name.startswith("_")
]


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    with anabranch.open(tmp_path_factory.mktemp("lake")) as folder:
        address = ("http://127.0.0.1:1", "key", "secret")
        yield {
            "folder": folder,
            "server": anabranch.connect(*address),
            "asyncio": aio.connect(*address),
        }


def test_the_interface_has_the_parts_of_a_lake():
    assert set(PROTOCOLS) == set(PARTS)
    assert len(METHODS) > 35


@pytest.mark.parametrize("kind", ["folder", "server", "asyncio"])
def test_methods_have_the_arguments_of_the_interface(lakes, kind):
    for part, name in METHODS:
        declared = list(inspect.signature(getattr(PROTOCOLS[part], name)).parameters.values())[1:]
        method = getattr(getattr(lakes[kind], part), name)
        found = inspect.signature(method).parameters
        for parameter in declared:
            actual = found[parameter.name]
            assert (actual.kind, actual.default) == (parameter.kind, parameter.default), parameter
        names = [each.name for each in declared]
        others = [each for each in found.values() if each.name not in names]
        assert all(each.default is not each.empty for each in others), (part, name)
        assert [each for each in found if each in names] == names, (part, name)
        assert inspect.getdoc(method), (part, name)


def test_remote_lakes_have_no_other_methods(lakes):
    for part, protocol in PROTOCOLS.items():
        declared = {name for of, name in METHODS if of == part}
        for kind in ("server", "asyncio"):
            own = {name for name in vars(type(getattr(lakes[kind], part))) if name[0] != "_"}
            assert own == declared, (protocol, kind)


def test_lakes_that_wait_are_of_the_public_type(lakes):
    assert isinstance(lakes["folder"], anabranch.AnyLake)
    assert isinstance(lakes["folder"], anabranch.Lake)
    assert isinstance(lakes["server"], anabranch.AnyLake)
    assert isinstance(lakes["server"], anabranch.RemoteLake)
    assert not isinstance(lakes["server"], anabranch.Lake)
    assert not isinstance(object(), anabranch.AnyLake)
    assert (RemoteLake, AsyncLake) == (anabranch.RemoteLake, aio.AsyncLake)
