"""The user metadata of objects: what is kept, and how much."""

from __future__ import annotations

import pytest

from anabranch.errors import Invalid
from anabranch.model.objects.entry import user_metadata


def test_keys_of_the_system_are_left_out():
    assert user_metadata({"k": "v", "::anabranch::checksum": "x"}) == {"k": "v"}
    assert user_metadata(None) == {}


@pytest.mark.parametrize("prefix", ["", "X-Amz-Meta-", "x-amz-meta-"])
def test_a_key_counts_without_the_prefix_of_s3(prefix):
    assert user_metadata({f"{prefix}k": "v" * 2047})
    with pytest.raises(Invalid, match="2,049 bytes, at most 2,048") as caught:
        user_metadata({f"{prefix}k": "v" * 2048})
    assert caught.value.kind == "metadata_too_large"


def test_values_count_in_bytes_and_together():
    with pytest.raises(Invalid, match="2,050 bytes"):
        user_metadata({"a": "\N{EURO SIGN}" * 341, "b": "\N{EURO SIGN}" * 341, "cd": ""})


def test_standard_headers_count_to_the_larger_limit_alone():
    assert user_metadata({"Cache-Control": "c" * 8000})
    with pytest.raises(Invalid, match="at most 8,192"):
        user_metadata({"Cache-Control": "c" * 8192})
