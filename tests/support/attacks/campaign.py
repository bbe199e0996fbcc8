"""A campaign of attacks on a sweep. Objects that were readable after an attack are read again after
the sweep.

    victims = make_victims(lake, target, 64)      # objects that are due for removal
    campaign = Campaign(folder, target, victims)
    campaign.strike("before the removal")         # from any process, at any step of a sweep
    campaign.lost()                               # attempts whose objects are no longer readable
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from support.attacks.attacks import ATTACKS, Attack, import_object
from support.attacks.target import Place, Refused, Target, Victim

__all__ = ["REFUSALS", "Attempt", "Campaign", "make_victims"]

REFUSALS = frozenset({"being_removed", "commit_expired", "sweep_under_way"})
"""The kinds of errors that reject a reference during a sweep, with status 409 and a hint."""

_TOO_LATE = frozenset(
    {"no_changes", "data_missing", "link_address_empty", "source_not_found", "nothing_to_add"}
)
"""The kinds of errors that are possible after the sweep has removed the victim."""

_GONE = 410
_CONFLICT = 409
_LONG_AGO = 1_600_000_000
_DAY = 86_400


def make_victims(
    lake: Lake, target: Target, amount: int, storage: str = "local://"
) -> list[Victim]:
    """Creates the repositories `sea`, `land` and `port` in an empty lake, which the target serves,
    with `amount` victims and an object that is kept. The victims are due for removal once they are
    old enough for the collector.
    """
    for name in ("sea", "land", "port"):
        lake.repositories.create(name, f"{storage}{name}")
    lake.garbage_rules.set("sea", RetentionRules(1))
    lake.branches.create("sea", "links", "main")
    lake.objects.upload("sea", "main", "stays", [b"stays"])
    numbers = range(amount)
    namespace = lake.blocks.qualify(lake.repositories.get("sea").storage_namespace)
    uploads = []
    for number in numbers:
        lake.branches.create("sea", f"first-{number}", "main")
        stat = lake.objects.upload("sea", "main", "left", [b"victim %d" % number])
        uploads.append((f"{namespace}/{stat.entry.address}", stat.entry.checksum))
    lake.objects.delete("sea", "main", "left")
    commits = []
    for number in range(amount + 1):
        lake.objects.upload("sea", "main", f"old-{number}", [b"victim %d" % number])
        if number:
            lake.objects.delete("sea", "main", f"old-{number - 1}")
        date = _LONG_AGO + number * _DAY
        commit = lake.commits.commit("sea", "main", committer="me", message="m", date=date)
        commits.append(commit)
    victims = []
    for number, (address, checksum) in zip(numbers, uploads, strict=True):
        path = f"link-{number}"
        backing = target.call("GET", "/repositories/sea/branches/links/staging/backing", path=path)
        linked = backing["physical_address"]
        lake.blocks.put(lake.blocks.unqualify(linked), [b"victim %d" % number])
        commit, removal = commits[number : number + 2]
        victims.append(
            Victim(number, address, linked, checksum, commit.id, removal.id, commit.metarange_id)
        )
    return victims


class Attempt(NamedTuple):
    """The result of an attack before a step of a sweep: the place where it made its victim
    readable, or why it was refused.
    """

    attack: str
    victim: int
    step: str
    place: Place | None
    refusal: str


class Campaign(NamedTuple):
    """Attacks on a sweep. Each strike makes the next `at_once` attacks on the next victims, which
    no other process attacks.
    """

    folder: str
    target: Target
    victims: Sequence[Victim]
    at_once: int = len(ATTACKS)

    def strike(self, step: str) -> None:
        """Makes some attacks and writes their results to files. Does nothing if all victims have
        been attacked.
        """
        for number in itertools.islice(self._claim(), self.at_once):
            attack = ATTACKS[number % len(ATTACKS)]
            attempt = self._attempt(attack, self.victims[number], step)
            Path(self.folder, f"attempt-{number}.json").write_text(json.dumps(attempt))

    def attempts(self, attack: str = "") -> list[Attempt]:
        """Returns the results of the attacks so far, of all or those with a name."""
        attempts = []
        for file in sorted(Path(self.folder).glob("attempt-*.json")):
            name, victim, step, fields, refusal = json.loads(file.read_text())
            if attack in {"", name}:
                place = None if fields is None else Place(*fields)
                attempts.append(Attempt(name, victim, step, place, refusal))
        return attempts

    def lost(self) -> list[Attempt]:
        """Returns the attempts whose victims were readable and no longer are."""
        bodies = {victim.number: victim.body for victim in self.victims}
        return [
            attempt
            for attempt in self.attempts()
            if attempt.place is not None
            and self.target.read(attempt.place) != bodies[attempt.victim]
        ]

    def _claim(self) -> Iterator[int]:
        """Yields the numbers of attempts, each in one process only."""
        for number in range(len(self.victims)):
            try:
                os.close(os.open(f"{self.folder}/claim-{number}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            yield number

    def _attempt(self, attack: Attack, victim: Victim, step: str) -> Attempt:
        attempt = Attempt(attack.__name__, victim.number, step, None, "")
        try:
            place = attack(self.target, victim)
        except Refused as error:
            has_hint = bool(error.hint) or attack is import_object
            if error.kind in REFUSALS and (error.status, has_hint) == (_CONFLICT, True):
                return attempt._replace(refusal=error.kind)
            if error.kind in _TOO_LATE or error.status == _GONE:
                return attempt._replace(refusal="too late")
            return attempt._replace(refusal=f"unexpected: {error}")
        if self.target.read(place) == victim.body:
            return attempt._replace(place=place)
        return attempt._replace(refusal="reference made too late")
