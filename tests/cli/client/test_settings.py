"""Settings as the command line reads and writes them: flags, `anabranch login`, errors."""

from __future__ import annotations

import pytest

from anabranch.cli.client.settings import resolve, server_url
from anabranch.cli.commands.program.login import write_settings
from anabranch.cli.errors import Usage
from anabranch.client.settings import Settings, client_file


@pytest.fixture
def environment(tmp_path):
    return {"HOME": str(tmp_path)}


def test_the_flag_comes_first(environment):
    environment["ANABRANCH_SERVER"] = "http://env:2"
    settings = resolve(environment, server="https://flag/api/v1/")
    assert (settings.server, settings.sources["server"]) == ("https://flag", "--server")


def test_settings_that_are_wrong_are_a_wrong_use_of_the_command(environment):
    with pytest.raises(Usage, match="not a server's address") as caught:
        server_url("nonsense")
    assert (caught.value.kind, caught.value.where) == ("usage", "--server")
    environment["ANABRANCH_ACCESS_KEY_ID"] = "key"
    with pytest.raises(Usage, match="secret_access_key is not") as caught:
        resolve(environment)
    assert caught.value.where == "ANABRANCH_ACCESS_KEY_ID"
    assert caught.value.hint
    path = client_file(environment)
    path.parent.mkdir(parents=True)
    path.write_text('token = "a-token"')
    path.chmod(0o644)
    with pytest.raises(Usage) as caught:
        resolve({"HOME": environment["HOME"]})
    assert caught.value.kind == "insecure_file"


def test_login_writes_what_is_read(environment):
    path = client_file(environment)
    settings = Settings("https://lake", 'key"\\', "sécret", {})
    write_settings(path, settings)
    write_settings(path, settings)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["client.toml"]
    assert resolve(environment)[:3] == settings[:3]


def test_login_refuses_what_cannot_be_written(environment):
    path = client_file(environment)
    with pytest.raises(Usage, match="access_key_id"):
        write_settings(path, Settings("https://lake", "a\nb", "s", {}))
    assert not path.exists()


def test_a_token_is_written_without_a_pair(environment):
    path = client_file(environment)
    write_settings(path, Settings("http://a:1", "", "", {}, "a-token"))
    assert path.read_text() == 'server = "http://a:1"\ntoken = "a-token"\n'
    assert resolve(environment).token == "a-token"
