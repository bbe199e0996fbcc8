"""Which server, and as whom: every source and their order."""

from __future__ import annotations

import pytest

from anabranch.client.settings import (
    InvalidSettings,
    Settings,
    client_file,
    resolve,
    server_url,
)

LAKECTL = """
credentials:
  access_key_id: yaml-key
  secret_access_key: yaml-secret
server:
  endpoint_url: http://yaml:8000/api/v1
"""
TOML = 'server = "http://toml:1"\naccess_key_id = "toml-key"\nsecret_access_key = "toml-secret"\n'
VARIABLES = {
    "ANABRANCH_SERVER": "http://env:2",
    "ANABRANCH_ACCESS_KEY_ID": "env-key",
    "ANABRANCH_SECRET_ACCESS_KEY": "env-secret",
}
LAKECTL_VARIABLES = {
    "LAKECTL_SERVER_ENDPOINT_URL": "http://lakectl:3/api/v1/",
    "LAKECTL_CREDENTIALS_ACCESS_KEY_ID": "lakectl-key",
    "LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY": "lakectl-secret",
}


@pytest.fixture
def environment(tmp_path):
    return {"HOME": str(tmp_path)}


def write_toml(environment, text=TOML, mode=0o600):
    path = client_file(environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def write_yaml(tmp_path, text=LAKECTL):
    path = tmp_path / ".lakectl.yaml"
    path.write_text(text)
    return path


def test_nothing_set(environment):
    assert resolve(environment) == Settings("http://127.0.0.1:8000", "", "", {"server": "default"})


def test_the_order_of_sources(environment, tmp_path):
    write_yaml(tmp_path)
    assert resolve(environment)[:3] == ("http://yaml:8000", "yaml-key", "yaml-secret")
    environment |= LAKECTL_VARIABLES
    assert resolve(environment)[:3] == ("http://lakectl:3", "lakectl-key", "lakectl-secret")
    path = write_toml(environment)
    assert resolve(environment)[:3] == ("http://toml:1", "toml-key", "toml-secret")
    assert set(resolve(environment).sources.values()) == {str(path)}
    environment |= VARIABLES
    assert resolve(environment)[:3] == ("http://env:2", "env-key", "env-secret")
    settings = resolve(environment, given={"server": ("https://flag/api/v1/", "url")})
    assert settings[:3] == ("https://flag", "env-key", "env-secret")
    assert settings.sources == {
        "server": "url",
        "access_key_id": "ANABRANCH_ACCESS_KEY_ID",
        "secret_access_key": "ANABRANCH_SECRET_ACCESS_KEY",
    }


def test_a_key_and_its_secret_come_from_one_source(environment, tmp_path):
    write_yaml(tmp_path)
    environment["ANABRANCH_ACCESS_KEY_ID"] = "env-key"
    with pytest.raises(InvalidSettings, match="secret_access_key is not") as caught:
        resolve(environment)
    assert caught.value.where == "ANABRANCH_ACCESS_KEY_ID"


def test_lakectl_may_split_its_pair_between_file_and_environment(environment, tmp_path):
    write_yaml(tmp_path, "credentials: {access_key_id: yaml-key}\n")
    environment["LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY"] = "lakectl-secret"
    assert resolve(environment)[1:3] == ("yaml-key", "lakectl-secret")


def test_files_are_not_opened_when_nothing_is_missing(environment, tmp_path):
    write_yaml(tmp_path, "{not yaml")
    assert resolve(environment | VARIABLES)[1] == "env-key"
    with pytest.raises(InvalidSettings, match="cannot be read"):
        resolve(environment)


def test_a_file_can_be_named(environment, tmp_path):
    yaml = write_yaml(tmp_path)
    assert resolve({"HOME": "/nowhere"}, config=str(yaml)).access_key_id == "yaml-key"
    toml = write_toml(environment)
    elsewhere = tmp_path / "other.toml"
    toml.rename(elsewhere)
    environment["ANABRANCH_CONFIG_FILE"] = str(elsewhere)
    assert resolve(environment).access_key_id == "toml-key"
    with pytest.raises(InvalidSettings, match="does not exist"):
        resolve(environment, config=str(tmp_path / "missing.toml"))


def test_xdg_config_home(environment, tmp_path):
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert client_file(environment) == tmp_path / "xdg/anabranch/client.toml"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_secret_that_others_can_read_is_refused(environment, mode):
    path = write_toml(environment, mode=mode)
    with pytest.raises(InvalidSettings, match="readable by other users") as caught:
        resolve(environment)
    assert caught.value.hint == f"Run: chmod 600 {path}"


def test_a_file_without_a_secret_may_be_read_by_all(environment):
    write_toml(environment, 'server = "http://toml:1"', 0o644)
    assert resolve(environment).server == "http://toml:1"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("servr = 'x'", "'servr' is not a setting", "Did you mean server?"),
        ("server = 3", "server must be a string", ""),
        ("server", "cannot be read", "anabranch login"),
        ("server = 'nonsense'", "'nonsense' is not a server's address", "Write it like"),
    ],
)
def test_broken_files(environment, text, message, hint):
    write_toml(environment, text)
    with pytest.raises(InvalidSettings) as caught:
        resolve(environment)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "", "http:///x"])
def test_what_is_no_address(url):
    with pytest.raises(InvalidSettings):
        server_url(url, "url")


def test_credentials_do_not_belong_in_an_address():
    with pytest.raises(InvalidSettings, match="must not contain credentials"):
        server_url("http://key:secret@host", "url")


def test_a_token_in_place_of_a_pair(environment):
    write_toml(environment, 'server = "http://toml:1"\ntoken = "a-token"\n')
    settings = resolve(environment)
    assert (settings.access_key_id, settings.token) == ("", "a-token")
    assert settings.sources["token"] == str(client_file(environment))
    environment["ANABRANCH_TOKEN"] = "another-token"
    assert resolve(environment).token == "another-token"
    environment |= VARIABLES
    assert resolve(environment)[1:3] == ("env-key", "env-secret")
    assert resolve(environment).token == ""


def test_a_token_of_a_lower_source_does_not_join_a_pair(environment, tmp_path):
    write_yaml(tmp_path)
    environment["ANABRANCH_TOKEN"] = "a-token"
    settings = resolve(environment)
    assert settings[:3] == ("http://yaml:8000", "", "")
    assert settings.token == "a-token"


def test_a_token_that_others_can_read_is_refused(environment):
    write_toml(environment, 'token = "a-token"\n', mode=0o644)
    with pytest.raises(InvalidSettings) as error:
        resolve(environment)
    assert error.value.kind == "insecure_file"
