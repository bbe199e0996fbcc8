"""docs/mcp.md: its configurations start what they say; its tables are those of the code."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from support.session.forked_python import forked_python

import anabranch
from anabranch.mcp.limits import (
    DEFAULT_LIMITS,
    MAX_ARGUMENT_BYTES,
    MAX_CONTENT_BYTES,
    MAX_RESULT_BYTES,
)
from anabranch.mcp.prompts import available_prompts
from anabranch.mcp.tools.table import READING, WRITING, available
from anabranch.testing.server import running_server

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
CONFIGURATIONS = [
    next(iter(json.loads(block).values()))["lake"]
    for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("lake")) as running:
        yield running


@pytest.mark.sample(2)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_configuration_starts_the_tools(configuration, server, tmp_path):
    with anabranch.open(tmp_path / "lake"):
        pass
    known = {
        "https://lake.example.com": server.url,
        "AKIAIOSFODNN7EXAMPLE": server.access_key_id,
        "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY": server.secret_access_key,
        "/srv/lake": str(tmp_path / "lake"),
    }
    if "url" in configuration:
        keys = {"access_key_id": server.auth[0], "secret_access_key": server.auth[1]}
        token = httpx2.post(f"{server.api}/auth/login", json=keys, timeout=60).json()["token"]
        headers = {
            name: value.replace("${LAKE_TOKEN}", token)
            for name, value in configuration["headers"].items()
        }
        url = configuration["url"].replace("https://lake.example.com", server.url)
        names = asyncio.run(names_over_http(url, headers))
    else:
        assert configuration["command"] == "anabranch"
        words = [known.get(word, word) for word in configuration["args"]]
        environment = {
            "HOME": str(tmp_path),
            "PYTHONPATH": str(Path(anabranch.__file__).parent.parent),
            **{name: known[value] for name, value in configuration.get("env", {}).items()},
        }
        names = asyncio.run(names_over_stdio(words, environment))
    assert names == list(available(write="--write" in configuration.get("args", ())))


async def names_over_http(url, headers):
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


async def names_over_stdio(words, environment):
    command = StdioServerParameters(
        command=forked_python(), args=["-m", "anabranch", *words], env=environment
    )
    async with Client(command, read_timeout_seconds=200) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


def test_all_tools_and_prompts_are_named_in_their_order():
    named = re.findall(r"^\| `([a-z_]+)` \| ", PAGE, re.MULTILINE)
    assert named == [tool.name for tool in (*READING, *WRITING)]
    assert all(f"`{name}`" in PAGE for name in available_prompts(write=True))
    replacing = [tool.name for tool in WRITING if tool.hints.destroys]
    assert ", ".join(f"`{name}`" for name in replacing) in PAGE.replace("\n", " ")


def test_limits_are_those_of_the_code():
    limits = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE))
    assert limits["Arguments of a call"].startswith(f"{MAX_ARGUMENT_BYTES >> 20} MiB;")
    assert limits["Result of a call"].startswith(f"{MAX_RESULT_BYTES >> 10} KiB:")
    content = limits["Bytes of an object in a call or a resource"]
    assert content.startswith(f"{MAX_CONTENT_BYTES >> 10} KiB,")
    assert limits["Time of a call"].startswith(f"{DEFAULT_LIMITS.seconds:g} seconds:")
    assert limits["Calls at once"].startswith(f"{DEFAULT_LIMITS.calls} ")
