"""Secrets are not shown unless revealed."""

from __future__ import annotations

import logging

import msgspec
import pytest

from anabranch.model.secret import Secret


class Holder(msgspec.Struct):
    key: Secret


def test_secret_is_masked_everywhere(caplog):
    secret = Secret("hunter2hunter2")
    logging.getLogger("test").warning("%s %r", secret, Holder(secret))
    shown = [repr(secret), str(secret), f"{secret}", repr(Holder(secret)), caplog.text]
    assert all("hunter2" not in text and "***" in text for text in shown)
    with pytest.raises(TypeError):
        msgspec.json.encode(Holder(secret))


def test_empty_secret_is_false():
    assert repr(Secret("")) == "Secret('')"
    assert not Secret("")
    assert Secret("x")


def test_secrets_are_compared_by_text():
    assert Secret("a\udcffé") == Secret("a\udcffé")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert Secret("a").reveal() == "a"
