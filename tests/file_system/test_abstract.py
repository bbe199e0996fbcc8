"""The tests that fsspec publishes for file systems."""

from __future__ import annotations

import posixpath

import pytest
from fsspec.tests import abstract


class Fixtures(abstract.AbstractFixtures):
    @pytest.fixture
    def fs_path(self, sea):
        return f"{sea}/main"

    @pytest.fixture
    def fs_join(self):
        return posixpath.join

    @pytest.fixture
    def fs(self, file_systems):
        return file_systems[self.kind]

    @pytest.fixture
    def supports_empty_directories(self):
        return False


class Folder(Fixtures):
    kind = "folder"


class Server(Fixtures):
    kind = "server"


@pytest.mark.sample(3)
class TestCopyInAFolder(abstract.AbstractCopyTests, Folder):
    pass


@pytest.mark.sample(3)
class TestGetFromAFolder(abstract.AbstractGetTests, Folder):
    pass


@pytest.mark.sample(3)
class TestPutToAFolder(abstract.AbstractPutTests, Folder):
    pass


class TestOpenAndPipeInAFolder(abstract.AbstractOpenTests, abstract.AbstractPipeTests, Folder):
    pass


@pytest.mark.sample(3)
class TestCopyOnAServer(abstract.AbstractCopyTests, Server):
    pass


@pytest.mark.sample(3)
class TestGetFromAServer(abstract.AbstractGetTests, Server):
    pass


@pytest.mark.sample(3)
class TestPutToAServer(abstract.AbstractPutTests, Server):
    pass


class TestOpenAndPipeOnAServer(abstract.AbstractOpenTests, abstract.AbstractPipeTests, Server):
    pass
