"""Spark sessions of commands: missing requirements are reported before a session is started."""

from __future__ import annotations

import pytest

from anabranch.errors import Invalid
from anabranch.spark.__main__ import main
from anabranch.spark.sessions import require_spark, session


def test_missing_java_raises_invalid(tmp_path, monkeypatch):
    monkeypatch.setattr("anabranch.spark.java._PACKAGE", "no_such_package")
    with pytest.raises(Invalid, match=r"Spark needs Java, which was not found$") as caught:
        require_spark({"PATH": str(tmp_path)})
    assert caught.value.kind == "java_missing"
    assert "spark-jdk" in caught.value.hint
    with pytest.raises(Invalid, match="JAVA_HOME is"):
        require_spark({"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)})
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    require_spark({"PATH": "", "JAVA_HOME": str(tmp_path)})


def test_active_session_is_used_and_not_stopped(spark):
    with session("local[7]") as active:
        assert active is spark
    assert spark.range(3).count() == 3


def test_unknown_job_exits_with_usage_error(capsys):
    assert main([]) == 2
    assert main(["merge"]) == 2
    assert "import|gc|export" in capsys.readouterr().err
    assert main(["import", "--engine", "server", "--to", "lakefs://sea/main"]) == 2
