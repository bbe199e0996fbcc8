"""JSON documents and texts that expand end the process that merges them, and not the server."""

import sys

import pytest

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.json_text import parse_json
from anabranch.versioning.strategies.registry import make_strategy
from anabranch.versioning.strategies.table_processes.limits import TableLimits
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits the memory of a process"
)

SMALL = TableProcesses(TableLimits(memory_bytes=120 << 20, file_bytes=32 << 20, seconds=60))


def merge(name, base, source, destination):
    strategy = make_strategy(name, {}, processes=SMALL)
    run = run_strategy(strategy, "p", base=base, source=source, destination=destination)
    assert run.conflicts == []
    return run.files["p"]


@pytest.mark.parametrize("filling", [0, 20_000])  # merged here, and in a process
def test_documents_and_texts_are_merged_alike_whatever_their_size(filling):
    first = b'{"f":"' + b"x" * filling
    merged = merge("json", first + b'"}', first + b'","s":2}', first + b'","d":3}')
    assert merged == first + b'","s":2,"d":3}'
    last = b"x" * filling + b"\n"
    sides = [start + last for start in (b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n")]
    assert merge("text", *sides) == b"A\nb\nC\n" + last


def test_wide_indentation_is_not_repeated_in_full():
    members = b",".join(b'"m%d":0' % number for number in range(2000))
    base = b"{\n" + b" " * 1_000_000 + b'"a":{' + members + b"}}"
    sides = base, base.replace(b'"m1":0', b'"m1":1'), base.replace(b'"m9":0', b'"m9":1')
    assert len(merge("json", *sides)) < 2000 * 150


def test_a_small_document_expands_to_40_mb_at_most():
    members = ",".join(f'"{number:x}":0' for number in range(530))
    levels = '{"":' * 198
    base = f'{{\n{" " * 64}"":{levels}{{{members}}}{"}" * 199}'
    source, destination = base.replace('"1":0', '"1":1'), base.replace('"2":0', '"2":1')
    assert len(base) * 3 < 17_000
    assert len(merge("json", base.encode(), source.encode(), destination.encode())) < 40_000_000


def many_lists():
    lists = b"[]," * 500_000
    return tuple(b'{"a":[' + lists + b'[]],"b":%d}' % number for number in range(3))


def many_lines():
    lines = b"\n" * 1_000_000
    return lines, lines + b"s", lines + b"d"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "noun", "make"),
    [
        ("json", "document", many_lists),
        ("text", "text", many_lines),
    ],
)
def test_what_needs_too_much_memory_is_a_conflict(name, noun, make):
    with pytest.raises(Conflict) as refused:
        merge(name, *make())
    assert refused.value.kind == "merge_out_of_memory"
    assert refused.value.message.startswith(f"the {noun} needs more memory than its merge")
    assert refused.value.hint.startswith(f"Split the {noun} into smaller objects.")


def test_long_names_at_many_levels_are_not_repeated_at_each():
    opening = '{"%s":' % ("n" * 20_000) * 190

    def document(leaf):
        return f"{opening}{leaf}{'}' * 190}".encode()

    merged = merge("json", document("{}"), document('{"x":1}'), document('{"y":1}'))
    assert merged == document('{"x":1,"y":1}')


def test_a_member_that_is_repeated_after_many_others_is_found():
    members = ",".join(f'"a{number}":0' for number in range(100_000))
    with pytest.raises(Conflict, match="the source has the member 'a99999' twice in one object"):
        parse_json("source", f'{{{members},"a99999":1}}')
