"""Damaged tables under a real server: a response is right, or an error that names the file."""

from __future__ import annotations

import hashlib
import os

import pytest
from support.clients.no_retry_client import Caller

import anabranch
from anabranch import _kernel as kernel
from anabranch.testing.server import running_server

SIDE = 60
"""The number of objects in the damaged range, and in the next one."""


def flipped(share):
    """Returns a damage that changes one byte, so far into the file."""

    def damage(path):
        content = bytearray(path.read_bytes())
        content[int(len(content) * share)] ^= 0x20
        path.write_bytes(content)

    return damage


def shortened(path):
    os.truncate(path, path.stat().st_size // 2)


def one_byte_short(path):
    os.truncate(path, path.stat().st_size - 1)


def emptied(path):
    os.truncate(path, 0)


def overwritten(path):
    path.write_bytes(os.urandom(path.stat().st_size))


def removed(path):
    path.unlink()


def turned_into_a_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    **{f"flipped-{share}": flipped(share / 100) for share in (0, 15, 30, 45, 60, 75, 90, 97)},
    "shortened": shortened,
    "one-byte-short": one_byte_short,
    "emptied": emptied,
    "overwritten": overwritten,
    "removed": removed,
    "folder": turned_into_a_folder,
}
TABLES = ("range", "metarange")
CASES = [(table, damage) for table in TABLES for damage in DAMAGES]
SURE = {"shortened", "emptied", "overwritten", "removed", "folder"}
"""Damages that no reader of the table can fail to meet."""


def repository_of(table, damage):
    return f"{table}-{damage}"


def cutting_number():
    """Returns a number whose path ends a range: its FNV-1a is a multiple of 50,000."""
    number = SIDE
    while True:
        digest = 0xCBF29CE484222325
        for byte in path_of(number).encode():
            digest = (digest ^ byte) * 0x100000001B3 % (1 << 64)
        if digest % 50_000 == 0:
            return number
        number += 1


def path_of(number):
    return f"{number:07}"


def checksum_of(name, path):
    """Returns an object's checksum, which makes the tables of each repository its own."""
    return hashlib.md5(f"{name}/{path}".encode(), usedforsecurity=False).hexdigest()


def entry(path, checksum):
    address = f"data/{hashlib.sha256(path.encode()).hexdigest()}"
    return kernel.encode_entry(address, 1, 1_700_000_000, 0, 7, checksum, {}, "text/plain")


def build(lake, name, cut):
    """Commits a tree of two ranges to `main`, and to `side` one with a change in the first;
    returns the paths and the first commit's tables.
    """
    repository = lake.repositories.create(name, f"local://{name}")
    paths = [path_of(number) for number in range(cut - SIDE + 1, cut + SIDE + 1)]
    folder = lake.core.trees.write_folder(repository)
    entries = [(path.encode(), entry(path, checksum_of(name, path))) for path in paths]
    changed = [*entries[:10], (entries[10][0], entry(paths[10], "f" * 32)), *entries[11:]]
    for branch, records in (("main", entries), ("side", changed)):
        if branch == "side":
            lake.branches.create(name, "side", "main")
        written = kernel.write_tree(records, folder)
        lake.commits.commit(
            name,
            branch,
            message=branch,
            committer="test",
            source_metarange=written.metarange_id,
        )
    tree = lake.core.objects.tree(repository, lake.branches.get(name, "main").commit_id)
    first, second = tree.ranges()
    assert (first.count, second.count) == (SIDE, SIDE)
    return paths, {"range": first.id, "metarange": tree.metarange_id}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A server over repositories that are damaged, each in its own way, and what was in them."""
    data = tmp_path_factory.mktemp("damaged")
    cut = cutting_number()
    names = [repository_of(*case) for case in CASES]
    with anabranch.open(data) as lake:
        built = {name: build(lake, name, cut) for name in [*names, "sound"]}
    for table, damage in CASES:
        name = repository_of(table, damage)
        DAMAGES[damage](data / "block" / name / "_lakefs" / built[name][1][table])
    with running_server(data) as server:
        yield Caller(server), built


@pytest.fixture(params=CASES, ids=lambda case: repository_of(*case))
def case(damaged, request):
    """A caller, the repository's name, its paths, the damaged table's id, and whether every
    reader of the table must meet the damage.
    """
    call, built = damaged
    table, damage = request.param
    name = repository_of(table, damage)
    paths, tables = built[name]
    return call, name, paths, tables[table], damage in SURE


def response(reply, table):
    """Returns whether an answer is an error that names the table's file."""
    if reply.status in (200, 201):
        return False
    assert reply.status in (410, 500), reply
    assert table in reply.message
    return True


@pytest.mark.sample(3)
def test_a_stat_is_right_or_names_the_file(case):
    call, name, paths, table, sure = case
    errors = 0
    for path in paths:
        reply = call("GET", f"/repositories/{name}/refs/main/objects/stat?path={path}")
        if response(reply, table):
            errors += 1
        else:
            assert reply.json["checksum"] == checksum_of(name, path)
    # of a damaged range the other range is whole
    most = SIDE if name.startswith("range") else len(paths)
    assert errors == most if sure else errors <= most


def test_a_listing_is_right_or_names_the_file(case):
    call, name, paths, table, sure = case
    reply = call("GET", f"/repositories/{name}/refs/main/objects/ls?amount=1000")
    if response(reply, table):
        return
    assert not sure
    assert [(item["path"], item["checksum"]) for item in reply.json["results"]] == [
        (path, checksum_of(name, path)) for path in paths
    ]


@pytest.mark.parametrize("kind", ["two_dot", "three_dot"])
@pytest.mark.sample(28)
def test_a_difference_is_right_or_names_the_file(case, kind):
    call, name, paths, table, _ = case
    reply = call("GET", f"/repositories/{name}/refs/main/diff/side?type={kind}")
    if not response(reply, table):
        assert [(item["type"], item["path"]) for item in reply.json["results"]] == [
            ("changed", paths[10])
        ]


@pytest.mark.sample(9)
def test_a_commit_and_a_merge_are_right_or_change_nothing(case):
    call, name, paths, table, _ = case
    branch = f"try-{hashlib.sha256(os.urandom(8)).hexdigest()[:8]}"
    base = f"/repositories/{name}"
    created = call("POST", f"{base}/branches", {"name": branch, "source": "main"})
    if response(created, table):  # whether hooks guard it cannot be read
        assert call("GET", f"{base}/branches/{branch}").status == 404
        return
    before = call("GET", f"{base}/branches/{branch}").json["commit_id"]
    assert call.put(name, branch, f"{paths[0]}-new", b"new").status == 201
    reply = call.commit(name, branch, "On damaged ground")
    if response(reply, table):
        assert call("GET", f"{base}/branches/{branch}").json["commit_id"] == before
        assert call.get(name, branch, f"{paths[0]}-new").body == b"new"
        return
    merged = call("POST", f"{base}/refs/side/merge/{branch}", {})
    if response(merged, table):
        return
    wanted = {path: checksum_of(name, path) for path in paths} | {paths[10]: "f" * 32}
    listed = call("GET", f"{base}/refs/{branch}/objects/ls?amount=1000")
    if not response(listed, table):
        found = {item["path"]: item["checksum"] for item in listed.json["results"]}
        del found[f"{paths[0]}-new"]
        assert found == wanted


def test_other_repositories_are_unaffected(damaged):
    call, built = damaged
    paths, _ = built["sound"]
    reply = call("GET", "/repositories/sound/refs/main/objects/ls?amount=1000")
    assert [item["path"] for item in reply.json["results"]] == paths
    assert call.put("sound", "main", "new", b"new").status == 201
    assert call.commit("sound", "main", "Sound").status == 201


@pytest.mark.slow
def test_a_restored_table_is_read_again(tmp_path):
    with anabranch.open(tmp_path) as lake:
        paths, tables = build(lake, "restored", cutting_number())
    file = tmp_path / "block" / "restored" / "_lakefs" / tables["range"]
    content = file.read_bytes()
    with running_server(tmp_path) as server:
        call = Caller(server)
        where = f"/repositories/restored/refs/main/objects/stat?path={paths[0]}"
        file.unlink()
        assert call("GET", where).status == 410
        file.write_bytes(content[:-100])
        assert call("GET", where).status == 500
        file.unlink()
        file.write_bytes(content)
        assert call("GET", where).status == 200


@pytest.mark.parametrize("left", [0, 100, 5000])
@pytest.mark.sample(1)
def test_truncation_of_a_table_in_use_is_detected(tmp_path, left):
    """Readers of a mapped file that loses its pages are ended by the system, unless they see to
    it; then the whole server would be gone.
    """
    with anabranch.open(tmp_path) as lake:
        paths, tables = build(lake, "used", cutting_number())
    file = tmp_path / "block" / "used" / "_lakefs" / tables["range"]
    content = file.read_bytes()
    with running_server(tmp_path) as server:
        call = Caller(server)
        stats = [f"/repositories/used/refs/main/objects/stat?path={path}" for path in paths]
        assert [call("GET", stat).status for stat in stats] == [200] * len(paths)
        os.truncate(file, left)
        for path, stat in zip(paths, stats, strict=True):
            reply = call("GET", stat)
            if not response(reply, tables["range"]):
                assert reply.json["checksum"] == checksum_of("used", path)
        assert call("GET", stats[SIDE - 1]).status == 500
        assert call("GET", stats[SIDE]).status == 200
        file.write_bytes(content)
        assert [call("GET", stat).status for stat in stats] == [200] * len(paths)


@pytest.mark.slow
def test_damage_to_a_table_in_use_is_detected(tmp_path):
    with anabranch.open(tmp_path) as lake:
        paths, tables = build(lake, "used", cutting_number())
    file = tmp_path / "block" / "used" / "_lakefs" / tables["range"]
    with running_server(tmp_path) as server:
        call = Caller(server)
        stats = [f"/repositories/used/refs/main/objects/stat?path={path}" for path in paths]
        assert [call("GET", stat).status for stat in stats] == [200] * len(paths)
        content = file.read_bytes()
        with file.open("r+b") as table:
            for at in range(100, len(content) // 2, 500):
                table.seek(at)
                table.write(bytes([content[at] ^ 0x20]))
        statuses = []
        for path, stat in zip(paths, stats, strict=True):
            reply = call("GET", stat)
            if not response(reply, tables["range"]):
                assert reply.json["checksum"] == checksum_of("used", path)
            statuses.append(reply.status)
        assert 500 in statuses
        assert statuses[SIDE:] == [200] * SIDE
