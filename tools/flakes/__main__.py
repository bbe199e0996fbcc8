"""Runs tests several times in random order on an unfriendly machine and lists what failed.

Usage: python tools/flakes [OPTIONS] -- PYTEST_ARGUMENTS. Exits with status 0 if every test passed
in every round, 1 if one failed, 2 if a round could not run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from disturbances import adopt_orphans, busy_processes, kill_descendants, slow_calls

HERE = Path(__file__).parent
GRACE_SECONDS = 20
MAX_SEED = 1_000_000
VERDICTS = {0, 1}  # pytest's exit statuses if tests ran to the end: all passed, some failed
MAX_REASON_CHARS = 200


class Failure(NamedTuple):
    """A test that failed: in which phase and why."""

    test: str
    phase: str
    reason: str


class Round(NamedTuple):
    """A round that has ended: its seed, pytest's exit status and what failed."""

    seed: int
    status: int
    failures: list[Failure]


def main() -> int:
    """Runs the rounds, prints the table of failures, and returns the exit status."""
    options = parse_arguments(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    adopt_orphans()
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory() as name:
        try:
            slow = slow_calls(Path(name), late_ms=options.late, disk_ms=options.disk)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"flakes: {error}", file=sys.stderr)
            return 2
        try:
            rounds.extend(run_rounds(options, slow, Path(name)))
        except KeyboardInterrupt:
            _stop(signal.SIGINT)
        finally:
            print(summary(rounds, options), flush=True)
    if not {each.status for each in rounds} <= VERDICTS:
        return 2
    return int(any(each.status or each.failures for each in rounds))


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the options; `pytest` is the list of arguments after `--`."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="flakes",
        usage="%(prog)s [OPTIONS] -- PYTEST_ARGUMENTS",
        description="Runs tests several times in random order on an unfriendly machine.",
    )
    cores = os.cpu_count() or 1
    count = _at_least(0)
    parser.add_argument("--rounds", type=_at_least(1), default=5, help="default: 5")
    parser.add_argument("--seed", type=count, help="of the first round; the next ones add 1 each")
    parser.add_argument("--busy", type=count, default=cores, help="processes; default: one a core")
    parser.add_argument("--late", type=count, default=50, help="limit in ms; default: 50")
    parser.add_argument("--disk", type=count, default=50, help="limit in ms; default: 50")
    options = parser.parse_args(arguments[:split])
    options.pytest = list(arguments[split + 1 :])
    if options.seed is None:
        options.seed = secrets.randbelow(MAX_SEED)
    return options


def run_rounds(
    options: argparse.Namespace, slow: Mapping[str, str], folder: Path
) -> Iterator[Round]:
    """Yields each round when it has ended. What a round started ends with it."""
    with busy_processes(options.busy) as busy, contextlib.ExitStack() as stack:
        stack.callback(kill_descendants, spare=busy)
        for seed in range(options.seed, options.seed + options.rounds):
            print(f"\n== round {seed - options.seed + 1} of {options.rounds}, seed {seed}")
            yield run_round(seed, options.pytest, slow, folder / f"{seed}.jsonl")
            for command in kill_descendants(spare=busy):
                print(f"a process outlived the tests: {command[:MAX_REASON_CHARS]}")


def run_round(seed: int, arguments: Sequence[str], slow: Mapping[str, str], record: Path) -> Round:
    """Runs pytest once and returns what failed; interrupts it if this process is interrupted."""
    paths = filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
    environment = {
        **os.environ,
        **slow,
        "FLAKES_SEED": str(seed),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    command = [sys.executable, "-m", "pytest", "-p", "pytest_round"]
    own = [f"--round-seed={seed}", f"--round-failures={record}"]
    sys.stdout.flush()
    # in a session of its own, so that it is interrupted once, by this process
    process = subprocess.Popen(
        [*command, *own, *arguments], env=environment, start_new_session=True
    )
    try:
        status = process.wait()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
            process.kill()
            process.wait()
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return Round(seed, status, [Failure(**json.loads(line)) for line in lines])


def summary(rounds: Sequence[Round], options: argparse.Namespace) -> str:
    """Returns the table of what failed in which rounds, and the commands that repeat these."""
    failures: dict[str, dict[int, Failure]] = defaultdict(dict)
    for number, each in enumerate(rounds, 1):
        for failure in each.failures:
            failures[failure.test].setdefault(number, failure)
    limits = f"responses up to {options.late} ms late, disk up to {options.disk} ms slower"
    lines = [
        f"\n== failed tests: {len(failures)}, rounds: {len(rounds)}",
        f"   seed {options.seed}, {options.busy} busy processes, {limits}",
    ]
    for test, found in sorted(failures.items(), key=lambda item: (-len(item[1]), item[0])):
        numbers = ", ".join(map(str, found))
        lines.append(f"{len(found)} of {len(rounds)}  {test}  (rounds {numbers})")
        reasons = {f"{one.phase}: {one.reason[:MAX_REASON_CHARS]}" for one in found.values()}
        lines += [f"        {reason}" for reason in sorted(reasons)]
    for number, each in enumerate(rounds, 1):
        if each.status not in VERDICTS:
            lines.append(f"round {number} has no verdict: pytest ended with status {each.status}")
        if each.status or each.failures:
            lines.append(f"repeat round {number}: {_command(each.seed, options)}")
    return "\n".join(lines)


def _command(seed: int, options: argparse.Namespace) -> str:
    values = {"rounds": 1, "seed": seed, "busy": options.busy}
    values |= {"late": options.late, "disk": options.disk}
    own = [f"--{name}={value}" for name, value in values.items()]
    return shlex.join(["python", "tools/flakes", *own, "--", *options.pytest])


def _at_least(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return whole_number


def _stop(number: int, *_: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
