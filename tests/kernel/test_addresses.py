"""Addresses in a tree: one of each folder, and every one with a name that is not ordinary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch import _kernel as kernel

ADDRESSES = st.lists(
    st.sampled_from(["a", "b", ".c", "d.", "e\\f", "", "x" * 201, "\u00e9"]), max_size=3
).map("/".join)


def is_ordinary(address):
    _, slash, name = address.rpartition("/")
    odd = not slash or name.startswith(".") or name.endswith(".") or "\\" in name
    return not odd and 0 < len(name.encode()) <= 200 and len(address.encode()) <= 1000


@settings(max_examples=examples(100))
@given(
    entries=st.lists(st.tuples(ADDRESSES, st.integers(0, 2)), max_size=60),
    amount=st.integers(1, 9),
    first=st.integers(0, 60),
    last=st.integers(0, 60),
)
def test_pages_have_one_address_of_each_folder(tmp_path_factory, entries, amount, first, last):
    folder = str(tmp_path_factory.mktemp("tables"))
    records = [
        (b"%02d" % n, kernel.encode_entry(address, kind, 0, 0, 1, "", {"k": "v"}, ""))
        for n, (address, kind) in enumerate(entries)
    ]
    made = kernel.write_tree(records, folder)
    tree = kernel.Tables().tree(made.metarange_id, lambda table_id: f"{folder}/{table_id}")
    found, after = [], b"%02d" % first
    while after is not None:
        page, after = tree.addresses(after=after, last=b"%02d" % last, amount=amount)
        assert len(page) == amount if after is not None else len(page) <= amount
        found += page
    inside = [(n, *entry) for n, entry in enumerate(entries) if first < n <= last]
    assert {key for key, _, _ in found} <= {b"%02d" % n for n, _, _ in inside}
    for key, address, kind in found:
        assert entries[int(key)] == (address.decode(), kind)
    folders = {(a.rpartition("/")[0], kind) for _, a, kind in inside if is_ordinary(a)}
    given_folders = [
        (address.decode().rpartition("/")[0], kind)
        for _, address, kind in found
        if is_ordinary(address.decode())
    ]
    assert set(given_folders) == folders
    if amount > len(found):
        assert len(given_folders) == len(folders)
    odd = [b"%02d" % n for n, address, _ in inside if not is_ordinary(address)]
    assert [key for key, address, _ in found if not is_ordinary(address.decode())] == odd
