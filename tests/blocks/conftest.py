"""The block stores, each of which passes the tests of the contract."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from support.services.azure_emulator import EmulatedAzure
from support.services.s3_emulator import EmulatedS3
from support.services.s3_service import S3Service

from anabranch.blocks.contract import BlockStore, Stored
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.testing.stores import FaultyBlocks

NAMESPACES = {"mem": "mem://space", "local": "local://space"}


@pytest.fixture
def bucket(s3: S3Service) -> str:
    """A new bucket's name."""
    return new_bucket(s3)


def new_bucket(service: S3Service) -> str:
    name = f"bucket-{uuid.uuid4()}"
    service.make_bucket(name)
    return name


@pytest.fixture
def s3_store(s3: S3Service) -> BlockStore:
    return s3.blocks()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blocks"


@pytest.fixture
def local(root: Path) -> Iterator[LocalBlocks]:
    store = LocalBlocks(root)
    yield store
    store.close()


@pytest.fixture
def named_local(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalBlocks]:
    """A local store on a system without unnamed temporary files (`O_TMPFILE`)."""
    monkeypatch.delattr("os.O_TMPFILE", raising=False)
    store = LocalBlocks(root)
    yield store
    store.close()


class JournaledBlocks(LocalBlocks):
    """A local store that takes all addresses for unique, so that small blocks go to the
    journal. Tests that replace a block check that it notices.
    """

    def put(
        self,
        address: str,
        chunks: Iterable[bytes],
        *,
        if_absent: bool = False,
        unique_address: bool = True,
    ) -> Stored:
        return super().put(address, chunks, if_absent=if_absent, unique_address=unique_address)


@pytest.fixture
def journaled(root: Path) -> Iterator[LocalBlocks]:
    store = JournaledBlocks(root)
    yield store
    store.close()


@pytest.fixture
def gcs_store(emulated_s3: EmulatedS3) -> BlockStore:
    return emulated_s3.gcs_blocks()


@pytest.fixture
def gs_namespace(emulated_s3: EmulatedS3) -> str:
    """A namespace in a new bucket of Google Cloud Storage."""
    return f"gs://{new_bucket(emulated_s3)}/space"


@pytest.fixture
def azure_store(azure: EmulatedAzure) -> BlockStore:
    return azure.blocks()


@pytest.fixture
def azure_namespace(azure: EmulatedAzure) -> str:
    """A namespace in a new container."""
    name = f"container-{uuid.uuid4()}"
    azure.make_container(name)
    return f"{azure.root}/{name}/space"


@pytest.fixture
def s3_namespace(bucket: str) -> str:
    """A namespace in a new bucket."""
    return f"s3://{bucket}/space"


@pytest.fixture
def unsigning_gcs_store(emulated_s3: EmulatedS3) -> BlockStore:
    """Google's store without a key for signing, which stores parts of uploads as objects."""
    return emulated_s3.gcs_blocks(signs=False)


@pytest.fixture
def memory() -> BlockStore:
    return MemoryBlocks()


@pytest.fixture
def faulty() -> BlockStore:
    return FaultyBlocks(MemoryBlocks(), lambda _step, _address: None)


STORES = ["memory", "faulty", "local", "named_local", "journaled"]
STORES += ["s3_store", "gcs_store", "azure_store"]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> BlockStore:
    return request.getfixturevalue(request.param)


@pytest.fixture
def at(store: BlockStore, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Returns the address of a key in the store's namespace."""
    kind = store.config.blockstore_type
    if kind in NAMESPACES:
        namespace = NAMESPACES[kind]
    else:
        namespace = request.getfixturevalue(f"{kind}_namespace")
    return lambda key: f"{namespace}/{key}"


@pytest.fixture
def enough(store: BlockStore, request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    """Extends a body to the minimal length of a part before the last one, 5 MiB on S3."""
    least = 0
    if store.config.blockstore_type == "s3":
        least = request.getfixturevalue("s3").least_part_bytes
    return lambda body: body + bytes(max(0, least - len(body)))


@pytest.fixture
def client(s3: S3Service) -> Any:
    """boto3's client, to inspect buckets."""
    who = s3.access().credentials()
    return boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=who.access_key_id,
        aws_secret_access_key=who.secret.reveal(),
        region_name="us-east-1",
    )
