"""The page of a report: its numbers are those of the summary, and names are escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.pipelines.garbage.marking.attribution import Origins
from anabranch.pipelines.garbage.reports.page import render_page
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.totals import ObjectTotals

EMPTY = {"meta", "rect"}
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section"),
    *("table", "tr", "th", "td", "bdi", "data", "svg", "g", "text", "rect"),
}
AMOUNTS = st.builds(ObjectTotals, st.integers(0, 10**12), st.integers(0, 2**62))
NAMES = st.text(max_size=60)
HOSTILE = [
    "</bdi></td><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></svg><style>*{display:none}</style>",
    "&lt;script&gt;",
    "]]><!--",
    "\x00\x1b[2J\u202egnp.exe",
    "a\ud800b",
    "{{7*7}}",
]


class Page(HTMLParser):
    """Parses a page: checks that elements are closed, and collects the numbers of its tables."""

    def __init__(self, raw):
        super().__init__()
        self.open = []
        self.attributes = set()
        self.sections = {}
        self.texts = []
        self.feed(raw.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag in ELEMENTS
        self.attributes |= {name for name, _ in attributes}
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "data":
            self.sections[self.section][self.name].append(int(dict(attributes)["value"]))

    def handle_startendtag(self, tag, attributes):
        assert tag in EMPTY
        self.attributes |= {name for name, _ in attributes}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(data)

    def handle_data(self, data):
        self.texts.append(data)
        if self.open[-1:] == ["h2"]:
            self.section = data
            self.sections[data] = {}
        elif self.open[-2:] == ["td", "bdi"] and "section" in self.open:
            self.name = data
            self.sections[self.section][data] = []


def summary_of(**given):
    empty = {"run_id": "r", "repository": "sea", "storage_namespace": "s3://sea", "engine": "local"}
    times = {"started_at": 1_700_000_000.0, "grace_seconds": 0.0, "window_seconds": 0.0}
    return Summary(**{**empty, **times, **given})


def pair(amount):
    return [amount.objects, amount.bytes]


@settings(max_examples=examples(60))
@given(
    st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS),
    st.dictionaries(st.text("abc/<&\"'", min_size=1, max_size=50), AMOUNTS, max_size=5),
    st.dictionaries(st.text("abc/<&\"'", min_size=1, max_size=50), AMOUNTS, max_size=60),
    st.dictionaries(st.dates().map(lambda date: date.strftime("%Y-%m")), AMOUNTS, max_size=40),
)
def test_page_has_the_numbers_of_the_summary(amounts, by_branch, by_folder, by_month):
    listed, dead, due, swept, never, others = amounts
    summary = summary_of(
        state="swept",
        listed=listed,
        candidates=dead,
        due=due,
        swept=swept,
        by_month=by_month,
        origins=Origins(by_branch, by_folder, others, never),
    )
    sections = Page(render_page(summary)).sections
    assert sections["How much"] == {
        "listed": pair(listed),
        "dead": pair(dead),
        "may be removed": pair(due),
        "removed": pair(swept),
    }
    assert sections["By age"] == {name: pair(amount) for name, amount in by_month.items()}
    expected = {name: pair(amount) for name, amount in by_branch.items()}
    assert sections["By branch"] == {**expected, "never committed": pair(never)}
    expected = {name: pair(amount) for name, amount in by_folder.items()}
    rest = {"other folders": pair(others)} if others.objects else {}
    assert sections["By folder"] == {**expected, **rest}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped_in_the_page(name):
    amounts = {name: ObjectTotals(1, 1)}
    summary = summary_of(
        repository=name,
        storage_namespace=name,
        candidates_location=name,
        engine=name,
        run_id=name,
        default_retention_days=1,
        branch_retention_days={name: 1},
        by_month=amounts,
        origins=Origins(amounts, amounts),
    )
    raw = render_page(summary)
    page = Page(raw)
    assert not {name for name in page.attributes if name.startswith(("on", "href", "src"))}
    assert raw.count(b"<style>") == raw.count(b"</style>") == 1
    plain = Page(
        render_page(summary_of(default_retention_days=1, by_month={"x": ObjectTotals(1, 1)}))
    )
    assert page.attributes == plain.attributes
    for unseen in ("\x00", "\x1b", "\u202e"):
        assert unseen not in "".join(page.texts)


@settings(max_examples=examples(60))
@given(NAMES, AMOUNTS)
def test_page_of_any_name_is_well_formed(name, amount):
    Page(render_page(summary_of(repository=name, origins=Origins({name: amount}, {name: amount}))))


def test_section_without_rows_says_nothing():
    page = Page(render_page(summary_of()))
    assert page.sections["By age"] == {}
    assert "Nothing." in page.texts


def test_page_has_no_external_resources():
    raw = render_page(summary_of(by_month={"2023-11": ObjectTotals(1, 1)}))
    assert b"default-src 'none'" in raw
    assert b"http" not in raw.replace(b"http://www.w3.org/2000/svg", b"").replace(
        b"http-equiv", b""
    )


def test_summary_round_trips_through_json():
    summary = summary_of(origins=Origins({"": ObjectTotals(1, 2)}))
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary
