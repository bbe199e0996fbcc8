"""The pages about hooks: their action files parse, and their hooks do what the pages say."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from support.hooks.hook_runs import EVENT, hook_context
from support.hooks.misbehaving_webhook import misbehaving_webhook
from support.library_lake import LibraryLake

from anabranch.actions.files.action_file import parse_action_file
from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.hooks.lua.libraries import registry
from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed
from anabranch.library import open_lake

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("actions.md", "hooks-webhooks.md", "hooks-checks.md", "hooks-python.md", "lua.md")
PAGES = {name: (DOCS / name).read_text(encoding="utf-8") for name in NAMES}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)


def action(text, check=lambda *_: None):
    return parse_action_file(text.encode(), "_lakefs_actions/example.yaml", check)


def only_hook(page, number=0):
    (spec,) = action(blocks(page, "yaml")[number]).hooks
    return spec


@pytest.mark.parametrize(
    ("name", "text"),
    [(name, text) for name in NAMES if name != "hooks-python.md" for text in blocks(name, "yaml")],
)
def test_action_files_of_the_pages_are_valid(name, text):
    assert action(text, make_hook).hooks, name


def test_a_webhook_gets_what_the_page_shows():
    (sent,) = blocks("hooks-webhooks.md", "json")
    spec = only_hook("hooks-webhooks.md")
    event = msgspec.structs.replace(EVENT, action_name="quality of main", hook_id=spec.id)
    environment = {"LAKEFSACTION_CHECKS_TOKEN": "t0ken-1234"}
    context = hook_context(event=event, environment=environment)
    with misbehaving_webhook() as server:
        url = {"url": server.url("/echo")}
        make_hook(spec.type, {**spec.properties, **url}).run(context)
        (request,) = server.requests
    assert json.loads(request.body) == json.loads(sent)
    assert request.headers["authorization"] == "Bearer t0ken-1234"
    assert request.target == "/echo?level=strict&table=flights&table=airports"
    assert "t0ken" not in context.output.text()


@pytest.fixture
def lake(tmp_path):
    with open_lake(tmp_path / "lake") as opened:
        opened.repositories.create("flights", "local://flights")
        opened.branches.create("flights", "dev", "main")
        yield LibraryLake(opened, "flights")


def test_the_hook_in_python_runs_as_the_page_says(lake, tmp_path, monkeypatch):
    (code,) = re.findall(
        r"<!-- hook -->\n```python\n(.*?)^```", PAGES["hooks-python.md"], re.DOTALL | re.MULTILINE
    )
    (project,) = blocks("hooks-python.md", "toml")
    folder = tmp_path / "site"
    info = folder / "our_hooks-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "our_hooks.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-hooks\nVersion: 1.0\n")
    points = re.sub(r'(?s).*"anabranch\.hooks"\]', "[anabranch.hooks]", project).replace('"', "")
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    spec = only_hook("hooks-python.md")
    hook = make_hook(spec.type, spec.properties)
    lake.put("dev", **{"tables/a": b"small"})
    context = hook_context(lake, reference="dev", base="main")
    hook.run(context)
    assert context.output.text() == "looked at tables/a\n"
    lake.put("dev", **{"tables/b": bytes(1_000_001)})
    with pytest.raises(HookFailed, match="tables/b has 1000001 bytes: divide it"):
        hook.run(hook_context(lake, reference="dev", base="main"))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"ticket": "FL-7", "owner": "ada"}, None),
        ({"ticket": "FL-7"}, "the commit has no metadata owner"),
        ({"ticket": "7", "owner": "ada"}, r"ticket is 7, which is not \^FL-"),
    ],
)
def test_the_script_in_lua_refuses_what_the_page_says(metadata, reason):
    spec = only_hook("lua.md")
    event = msgspec.structs.replace(EVENT, commit_metadata=metadata)
    hook = make_hook(spec.type, spec.properties)
    if reason is None:
        hook.run(hook_context(event=event))
        return
    with pytest.raises(HookFailed, match=f"^{reason}"):
        hook.run(hook_context(event=event))


def listed_libraries():
    """Yields the names, whether they are there, and the functions that the page lists."""
    for names, there, about in re.findall(
        r"^\| (`[^|]*`) \| (yes|no|if allowed) \| (.*) \|$", PAGES["lua.md"], re.MULTILINE
    ):
        functions = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", about).partition(";")[0])
        for name in re.findall(r"`([^`]+)`", names):
            yield name, there, [] if name == "hook" else functions


LISTED = list(listed_libraries())


@pytest.mark.parametrize(("name", "there", "functions"), LISTED)
def test_the_libraries_of_the_page_are_there_or_not(name, there, functions):
    context = hook_context(settings=HookSettings(lua_net_http_enabled=True))
    sandbox = Sandbox(print, Libraries(context).open, lambda: None)
    if there == "no":
        with pytest.raises(HookFailed, match=f"module '{name}' not found"):
            sandbox.run(f"require('{name}')".encode(), "script")
        return
    checks = "".join(
        f"assert(type(library.{function}) == 'function', '{function}') " for function in functions
    )
    sandbox.run(f"local library = require('{name}') {checks}".encode(), "script")


def test_the_page_lists_all_libraries():
    scripts = {f"lakefs/catalogexport/{name}" for name in registry._SCRIPT_NAMES}
    known = {*registry._LIBRARIES, *scripts, "hook"}
    listed = {name for name, there, _ in LISTED if there != "no"}
    assert listed == known - {"encoding/z85enc", "lakefs/catalogexport/internal"}
