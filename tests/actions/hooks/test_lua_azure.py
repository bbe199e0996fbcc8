"""Lua's `azure` against Azurite."""

import pytest
from support.hooks.hook_runs import hook_context

from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox
from anabranch.errors import HookFailed


def run(script, azure=None, key=""):
    written = []
    sandbox = Sandbox(written.append, Libraries(hook_context()).open, lambda: None)
    if azure is not None:
        settings = azure.settings
        args = {
            "account": settings["ANABRANCH_BLOCKSTORE_AZURE_STORAGE_ACCOUNT"],
            "key": key or settings["ANABRANCH_BLOCKSTORE_AZURE_STORAGE_ACCESS_KEY"],
            "endpoint": settings["ANABRANCH_BLOCKSTORE_AZURE_TEST_ENDPOINT_URL"],
        }
        sandbox.define("args", args)
        script = (
            "local blobs = require('azure').blob_client(args.account, args.key, args.endpoint)\n"
            + script
        )
    sandbox.run(script.encode(), "script")
    return "".join(written).splitlines()


def test_blobs_are_stored_read_and_deleted(azure):
    azure.make_container("lua")
    script = r"""
        print(blobs.get_object("lua/a/ä b.txt"))
        blobs.put_object("lua/a/ä b.txt", "one\xff")
        blobs.put_object("lua/a/ä b.txt", "two\xff\0")
        local content, exists = blobs.get_object("lua/a/ä b.txt")
        print(#content, content:byte(4), exists)
        blobs.delete_object("lua/a/ä b.txt")
        print(select(2, blobs.get_object("lua/a/ä b.txt")))
    """
    assert run(script, azure) == ["\tfalse", "5\t255\ttrue", "false"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("blobs.put_object('none/a', 'x')", "none/a: HTTP 404 ContainerNotFound"),
        ("blobs.delete_object('none/a')", "none/a: HTTP 404"),
        ("blobs.put_object('a', 'x')", "the path a has no container"),
        ("blobs.put_object('/', 'x')", "has no container"),
    ],
)
def test_refusals_are_errors(azure, script, reason):
    with pytest.raises(HookFailed, match=reason):
        run(script, azure)


def test_a_wrong_key_is_refused(azure):
    with pytest.raises(HookFailed, match="HTTP 403"):
        run("blobs.put_object('lua-key/a', 'x')", azure, key="d3Jvbmc=")


@pytest.mark.parametrize("account", ["a", "host/path", "x.example.com#", "ABC"])
def test_an_account_is_no_way_to_another_host(account):
    with pytest.raises(HookFailed, match="is no name of a storage account"):
        run(f"require('azure').blob_client('{account}', 'a2V5')")


def test_addresses_become_those_of_data_lake_storage():
    transform = "print(require('azure').abfss_transform_path('{}'))"
    assert run(transform.format("https://acc.blob.core.windows.net/con/a/b c")) == [
        "abfss://con@acc.dfs.core.windows.net/a/b c"
    ]
    with pytest.raises(HookFailed, match="expected valid Azure https URL"):
        run(transform.format("https://example.com/con/a"))
