"""Times in Lua hooks, compared with Go's layouts."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.actions.hooks.lua.libraries.go_layouts import format_time, parse_time
from anabranch.errors import HookFailed

from .test_lua_libraries import call, run

MOMENT = dt.datetime(
    2024, 2, 29, 14, 5, 9, 120_000, dt.timezone(dt.timedelta(hours=-5, minutes=-30))
)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02T15:04:05Z07:00", "2024-02-29T14:05:09-05:30"),
        ("Mon Jan _2 15:04:05 2006", "Thu Feb 29 14:05:09 2024"),
        ("02 Jan 06 15:04 -0700", "29 Feb 24 14:05 -0530"),
        ("Monday, 02-Jan-06 3:04:05 PM", "Thursday, 29-Feb-24 2:05:09 PM"),
        ("20060102150405.000", "20240229140509.120"),
        ("15h04:05.999999999", "14h05:09.12"),
        ("1/2/2006 03:4:5pm", "2/29/2024 02:5:9pm"),
        ("January 2, 002", "February 29, 060"),
        ("__2 2006", " 60 2024"),
        ("15:04:05,000 Z07 Z0700", "14:05:09,120 -05 -0530"),
        ("Jan2 MST", "Feb29 -0530"),
    ],
)
def test_times_are_written_in_layouts_of_go(layout, text):
    """The texts are what time.Format of Go 1.26 writes."""
    assert format_time(MOMENT, layout) == text


@settings(max_examples=examples(200))
@given(
    st.datetimes(*map(dt.datetime.fromisoformat, ("1900-01-01", "2100-01-01"))),
    st.integers(-14 * 60, 14 * 60),
)
def test_what_a_layout_writes_it_reads(moment, minutes):
    zone = dt.timezone(dt.timedelta(minutes=minutes))
    moment = moment.replace(tzinfo=zone)
    for layout in (
        "2006-01-02T15:04:05.999999999Z07:00",
        "Mon, 02 Jan 2006 03:04:05.000000000 PM -0700",
        "January _2 2006 15:4:5.000000-07:00",
    ):
        assert parse_time(layout, format_time(moment, layout)) == moment


@pytest.mark.parametrize("text", ["2024-02-30T00:00:00+00:00", "2024-02-03", "", "x"])
def test_times_that_do_not_fit_are_errors(text):
    with pytest.raises(HookFailed, match="script:1"):
        call("time", "parse_iso", text)


def test_times_are_nanoseconds():
    script = """
        local time = require("time")
        local t = time.parse_iso("2024-02-29T14:05:09+02:00")
        print(string.format("%.0f", t), time.format_iso(t, "UTC"))
        local later = time.add(t, {hour = 1, minute = 20, second = 50})
        print(time.format(later, "15:04:05 MST", "America/New_York"), later - t)
        local now = time.now()
        time.sleep(1000000)
        local passed = time.since(now)
        print(passed >= 1000000, passed < 60e9, time.now() > now)
    """
    assert run(script).splitlines() == [
        "1709208309000000000\t2024-02-29T12:05:09+00:00",
        "08:25:59 EST\t4850000000000.0",
        "true\ttrue\ttrue",
    ]
    with pytest.raises(HookFailed, match="unknown time zone Nowhere"):
        call("time", "format", 0, "2006", "Nowhere")
