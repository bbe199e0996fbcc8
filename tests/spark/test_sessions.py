"""Spark sessions of commands: missing requirements are reported before a session is started."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from anabranch.errors import Invalid
from anabranch.spark.__main__ import main
from anabranch.spark.sessions import require_spark, session


def test_missing_java_raises_invalid(tmp_path, monkeypatch):
    monkeypatch.setattr("anabranch.lake.spark.java._PACKAGE", "no_such_package")
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
    assert "import|gc|export|fsck" in capsys.readouterr().err
    assert main(["import", "--engine", "server", "--to", "lakefs://sea/main"]) == 2


@pytest.mark.slow
def test_end_of_the_java_process_is_reported(tmp_path):
    """In a process of its own, whose Java is killed while a job runs."""
    program = """
        from anabranch.errors import Busy
        from anabranch.spark.sessions import session

        def kill(batches):
            import os, signal
            os.kill(JAVA, signal.SIGKILL)
            yield from batches

        try:
            with session("local[1]") as spark:
                JAVA = spark.sparkContext._gateway.proc.pid
                spark.range(9).mapInArrow(kill, "id BIGINT").count()
        except Busy as error:
            print(error.kind, error.message, error.hint, sep="|")
    """
    environment = {
        **os.environ,
        "SPARK_CONF_DIR": str(tmp_path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    kind, message, hint = done.stdout.strip().split("|")
    assert kind == "java_ended"
    assert "has ended (killed by SIGKILL)" in message
    assert "spark.driver.memory" in hint


def test_other_errors_of_a_session_are_not_changed(spark):
    with pytest.raises(ConnectionRefusedError), session():
        raise ConnectionRefusedError("of another server")
    assert spark.range(2).count() == 2
