"""Hooks of installed packages: what they see and do, and how they may fail."""

import subprocess
import textwrap
import time

import pytest
from support.hooks.hook_runs import hook_context

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed, Invalid
from anabranch.model.commits.commit import Commit

HOOKS = """
    import json, os, subprocess, sys, threading, time
    from anabranch.errors import HookFailed, NotFound

    class Hook:
        def __init__(self, args):
            self.args = args

    class Looking(Hook):
        def run(self, context):
            lake, ref = context.lake, context.reference
            print(json.dumps(self.args, sort_keys=True))
            print(context.event.event_type, context.username, context.commit.message)
            with lake.read(ref, "a.txt") as stream:
                print(stream.read(3), stream.seek(-2, 2), stream.read(), stream.read())
            stat = lake.stat(ref, "a.txt")
            print(stat.entry.size, stat.entry.content_type)
            print([item.path for item in lake.list(ref, delimiter="/", amount=10).items])
            page = lake.diff("main", ref, amount=1)
            print([(c.kind, c.path, c.right.size) for c in page.items], page.has_more)
            print(lake.commit("main").message)
            try:
                lake.read(ref, "missing")
            except NotFound as error:
                print("caught", error.kind)

    class Requesting(Hook):
        def run(self, context):
            print(context.lake.request("PUT", "/x", {"a": "b"}, b"body"))

    class Refusing(Hook):
        def run(self, context):
            raise HookFailed("the moon is not full", hint="Wait.")

    class Raising(Hook):
        def run(self, context):
            raise ZeroDivisionError("by nothing")

    class Hanging(Hook):
        def run(self, context):
            print("starting")
            subprocess.Popen(["sleep", "617"])
            time.sleep(617)

    class Exiting(Hook):
        def run(self, context):
            os.write(2, b"last words\\n")
            os._exit(3)

    class Leaving(Hook):
        def run(self, context):
            sys.exit("goodbye")

    class Shouting(Hook):
        def run(self, context):
            for _ in range(30):
                print("x" * 100_000)

    class Threads(Hook):
        def run(self, context):
            def talk():
                for _ in range(200):
                    print("a" * 50)
                    context.lake.stat(context.reference, "a.txt")
            threads = [threading.Thread(target=talk) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]

    class Spying(Hook):
        def run(self, context):
            print(sorted(context.environment.items()), os.environ.get("SECRET_OF_SERVER"))
            print(os.environ.get("LAKEFSACTION_TOKEN"), self.args)
            print(context.environment.get("LAKEFSACTION_TOKEN", "")[::-1])
            sys.stdin.read()
            raise HookFailed("with " + context.environment.get("LAKEFSACTION_TOKEN", "none"))
"""


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """Installs a package with the hooks."""
    folder = tmp_path / "site"
    info = folder / "own_hooks-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "own_hooks.py").write_text(textwrap.dedent(HOOKS))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-hooks\nVersion: 1.0\n")
    names = [line.split()[1].partition("(")[0] for line in HOOKS.splitlines() if "(Hook):" in line]
    points = "".join(f"{name.lower()} = own_hooks:{name}\n" for name in names)
    (info / "entry_points.txt").write_text(
        f"[anabranch.hooks]\n{points}missing = own_hooks:Missing\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))


def run(lake, name, *, timeout=60, args=None, **context):
    context = hook_context(lake, **{"reference": "dev", **context})
    properties = {"name": name, "timeout": timeout, "args": args or {}}
    make_hook("python", properties).run(context)
    return context.output.text()


def test_a_hook_sees_the_event_and_the_lake(lake):
    lake.save("dev", {"a.txt": b"12345", "b/c": b"6"})
    commit = Commit(id="", committer="ada", message="add May", creation_date=1, metarange_id="")
    written = run(lake, "looking", args={"limit": 3, "names": ["é"]}, commit=commit)
    assert written.splitlines() == [
        '{"limit": 3, "names": ["\\u00e9"]}',
        "pre-merge ada add May",
        "b'123' 3 b'45' b''",
        "5 application/octet-stream",
        "['a.txt', 'b/']",
        "[('added', 'a.txt', 5)] True",
        "Repository created",
        "caught object_not_found",
    ]


def test_a_hook_reads_large_objects_whole(lake):
    content = bytes(range(256)) * (100 << 10)
    lake.save("dev", {"a.txt": content})
    opened = run(
        lake,
        "looking",
        commit=Commit(id="", committer="", message="", creation_date=0, metarange_id=""),
    )
    assert f"b'\\x00\\x01\\x02' {len(content) - 2} b'\\xfe\\xff' b''" in opened


def test_a_hook_sends_requests_as_the_user(lake):
    seen = []

    def request(*given):
        seen.append(given)
        return 201, b"\x00made"

    lake._request = request
    assert run(lake, "requesting") == "(201, b'\\x00made')\n"
    assert seen == [("PUT", "/x", {"a": "b"}, b"body")]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("refusing", "the moon is not full"),
        ("raising", "ZeroDivisionError: by nothing"),
        ("exiting", "the hook exiting failed: last words"),
        ("leaving", "the hook leaving failed: goodbye"),
        ("missing", "AttributeError: module 'own_hooks' has no attribute 'Missing'"),
    ],
)
def test_a_hook_that_fails_gives_the_reason(lake, name, reason):
    with pytest.raises(HookFailed) as failed:
        run(lake, name)
    assert failed.value.message == reason
    own = {"refusing": "Wait.", "exiting": HookFailed.hint, "leaving": HookFailed.hint}
    assert failed.value.hint == own.get(name, "")


def test_a_hook_that_hangs_is_killed_with_all_it_started(lake, eventually):
    for seconds in (1, 5, 20):  # on a busy machine the hook may not have begun
        start = time.monotonic()
        context = hook_context(lake)
        with pytest.raises(HookFailed, match=f"the hook hanging did not finish within {seconds} s"):
            make_hook("python", {"name": "hanging", "timeout": seconds}).run(context)
        assert time.monotonic() - start < 30 + seconds
        if context.output.text():
            break
    assert context.output.text() == "starting\n"

    def processes():
        command = ["ps", "-eo", "args"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    eventually(lambda: "sleep 617" not in processes())


@pytest.mark.slow
def test_the_time_of_all_hooks_ends_a_hook_earlier_than_its_timeout(lake):
    start = time.monotonic()
    with pytest.raises(HookFailed, match="did not finish within"):
        run(lake, "hanging", timeout="1h", deadline=start + 1)
    assert time.monotonic() - start < 30


def test_megabytes_of_output_are_cut_off(lake):
    written = run(lake, "shouting")
    assert len(written) < (1 << 20) + 200
    assert "the output is longer than 1048576 bytes" in written


def test_threads_of_a_hook_can_print_and_read(lake):
    lake.save("dev", {"a.txt": b"1"})
    assert run(lake, "threads").count("a" * 50) == 800


def test_only_variables_with_the_prefix_are_seen_and_they_are_not_written(lake, monkeypatch):
    monkeypatch.setenv("SECRET_OF_SERVER", "s3cr3t")
    monkeypatch.setenv("LAKEFSACTION_TOKEN", "t0ken-1234")
    environment = {"LAKEFSACTION_TOKEN": "t0ken-1234", "SECRET_OF_SERVER": "s3cr3t"}
    context = hook_context(lake, environment=environment)
    args = {"token": "{{ ENV.LAKEFSACTION_TOKEN }}"}
    with pytest.raises(HookFailed, match=r"with \*\*\*"):
        make_hook("python", {"name": "spying", "args": args}).run(context)
    assert context.output.text().splitlines() == [
        "[('LAKEFSACTION_TOKEN', '***')] None",
        "None {'token': '***'}",
        "4321-nek0t",
    ]


def test_variables_can_be_forbidden_by_the_settings(lake):
    environment = {"LAKEFSACTION_TOKEN": "t0ken-1234"}
    with pytest.raises(HookFailed, match="with none"):
        run(
            lake,
            "spying",
            environment=environment,
            settings=HookSettings(environment_enabled=False),
        )


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({}, "property name: must be text"),
        ({"name": "unknown"}, "property name: no installed package has a hook 'unknown'"),
        ({"name": "looking", "timeout": "x"}, "property timeout: must be a time"),
        ({"name": "looking", "args": []}, "property args: must be a mapping"),
        ({"name": "looking", "args": {"a": "{{ ENV.PATH }}"}}, "property args: hooks cannot use"),
        ({"name": "looking", "arg": {}}, "property arg: is unknown"),
    ],
)
def test_wrong_properties_are_named(properties, reason):
    with pytest.raises(Invalid) as refused:
        make_hook("python", properties)
    assert refused.value.message.startswith(reason)
