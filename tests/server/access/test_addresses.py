"""An address is not a permission: without `fs:ImportFromStorage`, naming one is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anabranch import _kernel as kernel
from anabranch.model.objects.entry import AddressType

from .conftest import allow, deny

IMPORT = "fs:ImportFromStorage"


@pytest.fixture(scope="module")
def secret(team):
    """A repository of which the user may see commits, but no objects."""
    return team.repository("deep/plan.txt")


@pytest.fixture(scope="module")
def own(team):
    """The user's repository, where `private/` is denied."""
    return team.repository("public/a", "private/b", "main.txt")


@pytest.fixture(scope="module")
def jane(team, secret, own):
    """A user who may change everything in one repository, except for what she may not read."""
    return team.member(
        allow("fs:ReadCommit", "fs:ReadBranch", on=repository(secret, "")),
        allow("fs:*", on=repository(own)),
        deny(IMPORT, on=namespace("")),
        deny("fs:ReadObject", on=repository(own, "/object/private/*")),
    )


@pytest.fixture(scope="module")
def importer(team, own):
    """A user who may import what is below one folder, in both spellings of a local store."""
    folder = f"{root(team)}/raw/"
    return team.member(
        allow("fs:*", on=repository(own)),
        allow(IMPORT, on=[namespace(f"local://{folder}"), namespace("local://raw/")]),
    )


def repository(name, rest="*"):
    return f"arn:lakefs:fs:::repository/{name}{rest}"


def namespace(prefix):
    return f"arn:lakefs:fs:::namespace/{prefix}*"


def root(team):
    address = team.admin.api.get(
        f"/repositories/{team.repository('x')}/refs/main/objects/stat", params={"path": "x"}
    ).json()["physical_address"]
    return address.removeprefix("local://").partition("/lake-")[0]


def address_of(team, lake, path):
    stat = team.admin.api.get(f"/repositories/{lake}/refs/main/objects/stat", params={"path": path})
    return stat.json()["physical_address"]


def table_of(team, lake):
    head = team.admin.api.get(f"/repositories/{lake}/branches/main").json()["commit_id"]
    tree = team.admin.api.get(f"/repositories/{lake}/commits/{head}").json()["meta_range_id"]
    return f"local://{lake}/_lakefs/{tree}"


def stage(member, lake, address, path="public/new"):
    body = {"physical_address": address, "checksum": "c", "size_bytes": 13}
    route = f"/repositories/{lake}/branches/main/objects"
    return member.api.put(route, params={"path": path}, json=body)


def link(member, lake, address, path="public/new"):
    body = {"staging": {"physical_address": address}, "checksum": "c", "size_bytes": 13}
    route = f"/repositories/{lake}/branches/main/staging/backing"
    return member.api.put(route, params={"path": path}, json=body)


def resolution(address, path="public/new"):
    return {"resolutions": [{"path": path, "physical_address": address, "size_bytes": 13}]}


def merge(member, lake, address):
    route = f"/repositories/{lake}/refs/main/merge/main"
    return member.api.post(route, json={**resolution(address), "allow_empty": True})


def dry_run(member, lake, address):
    route = f"/repositories/{lake}/refs/main/merge/main"
    return member.api.post(route, json={**resolution(address), "dry_run": True})


def merge_later(member, lake, address):
    return member.api.post(
        f"/repositories/{lake}/refs/main/merge/main/async", json=resolution(address)
    )


def cherry_pick(member, lake, address):
    route = f"/repositories/{lake}/branches/main/cherry-pick"
    return member.api.post(route, json={"ref": "main", **resolution(address)})


def revert(member, lake, address):
    route = f"/repositories/{lake}/branches/main/revert"
    return member.api.post(route, json={"ref": "main", "parent_number": 0, **resolution(address)})


def reverts(member, lake, address):
    route = f"/repositories/{lake}/branches/main/reverts"
    return member.api.post(route, json={"refs": ["main"], **resolution(address)})


def rebase(member, lake, address):
    route = f"/repositories/{lake}/branches/main/rebase"
    return member.api.post(route, json={"onto": "main", **resolution(address)})


def start_import(member, lake, address):
    source = {"type": "object", "path": address, "destination": "public/new"}
    route = f"/repositories/{lake}/branches/main/import"
    return member.api.post(route, json={"paths": [source], "commit": {"message": "m"}})


def build_image(member, lake, address):  # noqa: ARG001  one form for all ways
    text = f"FROM scratch\nADD {address} /\n"
    return member.api.post("/images/stolen", content=text, headers={"content-type": "text/plain"})


RESOLVING = (merge, dry_run, merge_later, cherry_pick, revert, reverts, rebase)
NOW = tuple(
    way for way in (stage, link, start_import, build_image, *RESOLVING) if way is not merge_later
)
WAYS = (stage, link, start_import, build_image, *RESOLVING)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spelled", ["stored", "qualified"])
def test_another_repositorys_object_is_refused(team, jane, own, secret, way, spelled):
    address = address_of(team, secret, "deep/plan.txt")
    if spelled == "stored":
        address = "local://" + address[address.index(secret) :]
    before = read_new(jane, own)
    refused = way(jane, own, address)
    assert refused.status_code in {401, 403}, refused.text
    assert read_new(jane, own) == before


def read_new(member, repository):
    """Returns the status and the content of the path that is to be stolen."""
    target = f"/repositories/{repository}/refs/main/objects"
    response = member.api.get(target, params={"path": "public/new"})
    return response.status_code, response.status_code == 200 and response.content


@pytest.mark.parametrize("way", [stage, *RESOLVING])
def test_a_denied_object_of_the_repository_is_refused(team, jane, own, way):
    refused = way(jane, own, address_of(team, own, "private/b"))
    assert refused.status_code == 401, refused.text


@pytest.mark.parametrize("way", NOW)
def test_tables_are_refused_even_to_administrators(team, own, secret, way):
    for lake in (own, secret):
        refused = way(team.admin, own, table_of(team, lake))
        assert refused.status_code in {400, 403}, refused.text


def test_issued_addresses_are_staged_and_linked_without_the_permission(jane, own):
    for way, path in ((stage, "public/staged"), (link, "public/linked")):
        route = f"/repositories/{own}/branches/main/staging/backing"
        address = jane.api.get(route, params={"path": path}).json()["physical_address"]
        file = Path(address.removeprefix("local://"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"thirteen byte")
        assert stage(jane, own, address, "public/else").status_code == 401
        assert link(jane, own, address, "public/else").status_code == 400
        assert way(jane, own, address, path).is_success
        read = jane.api.get(f"/repositories/{own}/refs/main/objects", params={"path": path})
        assert read.content == b"thirteen byte"


def test_the_permission_to_import_admits_addresses(team, importer, own):
    file = Path(root(team)) / "raw" / "thirteen"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"thirteen byte")
    for way in (stage, link):
        assert way(importer, own, "local://raw/thirteen").is_success
        assert way(importer, own, "local://rawer/thirteen").status_code == 401
        assert way(importer, own, "local://raw/../rawer/thirteen").status_code in {400, 401, 403}


def write_tree(team, lake, objects):
    """Stores a tree as a client with access to the store does; returns its id."""
    folder = Path(root(team)) / lake / "_lakefs"
    records = [
        (path.encode(), kernel.encode_entry(address, kind, 0, 0, 13, "c", {}, ""))
        for path, (address, kind) in sorted(objects.items())
    ]
    return kernel.write_tree(records, str(folder)).metarange_id


def commit_tree(member, lake, tree):
    return member.api.post(
        f"/repositories/{lake}/branches/main/commits",
        params={"source_metarange": tree},
        json={"message": "m"},
    )


def test_trees_of_clients_name_only_what_may_be_imported(team):
    lake = team.repository("public/a", "private/b")
    route = f"/repositories/{lake}/refs/main/objects/stat"
    member = team.member(allow("fs:*", on=repository(lake)), deny(IMPORT, on=namespace("")))
    kept = {}
    for path in ("public/a", "private/b"):
        address = team.admin.api.get(route, params={"path": path}).json()["physical_address"]
        kept[path] = (address[address.index("data/") :], AddressType.RELATIVE)
    other = address_of(team, team.repository("plan"), "plan")
    other = "local://" + other[other.index("lake-") :]
    for stolen in ((other, AddressType.FULL), kept["private/b"]):
        tree = write_tree(team, lake, {**kept, "public/stolen": stolen})
        refused = commit_tree(member, lake, tree)
        assert refused.status_code == 401, refused.text
        assert commit_tree(team.admin, team.repository("x"), tree).status_code == 404
    fewer = write_tree(team, lake, {"public/a": kept["public/a"]})
    assert commit_tree(member, lake, fewer).is_success
    table = ("_lakefs/" + fewer, AddressType.RELATIVE)
    refused = commit_tree(team.admin, lake, write_tree(team, lake, {"public/t": table}))
    assert refused.status_code == 403


@pytest.mark.parametrize("kind", ["meta_range", "range"])
def test_tables_by_id_need_to_read_all_objects(team, jane, own, kind):
    tree = table_of(team, own).rpartition("/")[2]
    content = team.admin.api.get(f"/repositories/{own}/metadata/object/meta_range/{tree}").content
    ranges = [name.decode() for name in re.findall(rb"[0-9a-f]{64}", content)]
    reader = team.member(allow("fs:Read*", "fs:List*", on=repository(own)))
    for table in [tree] if kind == "meta_range" else ranges:
        for route in (f"object/{kind}/{table}", f"{kind}/{table}"):
            place = f"/repositories/{own}/metadata/{route}"
            for params in ({}, {"presign": "true"}):
                assert jane.api.get(place, params=params).status_code == 401
            assert reader.api.get(place).status_code == 200
