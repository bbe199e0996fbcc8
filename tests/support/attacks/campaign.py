"""A campaign of attacks on a sweep: what could be read after an attack is read again in the end.

victims = make_victims(lake, target, 64)      objects that are due to be removed
campaign = Campaign(folder, target, victims)
campaign.strike("before the removal")         from any process, at any step of a sweep
campaign.lost()                               what could be read then and cannot be read now
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anabranch.library import Lake
from anabranch.model.retention import RetentionRules
from support.attacks.attacks import ATTACKS, Attack, import_object
from support.attacks.target import Place, Refused, Target, Victim

__all__ = ["REFUSALS", "Attempt", "Campaign", "make_victims"]

REFUSALS = frozenset({"being_removed", "commit_expired", "sweep_under_way"})
"""The kinds of errors that refuse a reference because of a sweep, with status 409 and a hint."""

_TOO_LATE = frozenset(
    {"no_changes", "data_missing", "link_address_empty", "source_not_found", "nothing_to_add"}
)
"""The kinds of errors after the sweep has removed the victim."""

_GONE = 410
_CONFLICT = 409
_LONG_AGO = 1_600_000_000
_DAY = 86_400


def make_victims(
    lake: Lake, target: Target, amount: int, storage: str = "local://"
) -> list[Victim]:
    """Makes the repositories `sea`, `land` and `port` in a lake with nothing else, whose server is
    the target: so many victims, and an object that stays. All that may be removed is due to be,
    once the objects are as old as the collector wants.
    """
    for name in ("sea", "land", "port"):
        lake.repositories.create(name, f"{storage}{name}")
    lake.garbage_rules.set("sea", RetentionRules(1))
    lake.branches.create("sea", "links", "main")
    lake.objects.upload("sea", "main", "stays", [b"stays"])
    numbers = range(amount)
    namespace = lake.blocks.qualify(lake.repositories.get("sea").storage_namespace)
    left = []
    for number in numbers:
        lake.branches.create("sea", f"first-{number}", "main")
        stat = lake.objects.upload("sea", "main", "left", [b"victim %d" % number])
        left.append((f"{namespace}/{stat.entry.address}", stat.entry.checksum))
    lake.objects.delete("sea", "main", "left")
    commits = []
    for number in range(amount + 1):
        lake.objects.upload("sea", "main", f"old-{number}", [b"victim %d" % number])
        if number:
            lake.objects.delete("sea", "main", f"old-{number - 1}")
        date = _LONG_AGO + number * _DAY
        made = lake.commits.commit("sea", "main", committer="me", message="m", date=date)
        commits.append(made)
    victims = []
    for number, (address, checksum) in zip(numbers, left, strict=True):
        path = f"link-{number}"
        told = target.call("GET", "/repositories/sea/branches/links/staging/backing", path=path)
        linked = told["physical_address"]
        lake.blocks.put(lake.blocks.unqualify(linked), [b"victim %d" % number])
        made, after = commits[number : number + 2]
        victims.append(
            Victim(number, address, linked, checksum, made.id, after.id, made.metarange_id)
        )
    return victims


class Attempt(NamedTuple):
    """What became of an attack at a moment: where it made its victim readable, or why not."""

    attack: str
    victim: int
    moment: str
    place: Place | None
    refusal: str


class Campaign(NamedTuple):
    """Attacks on a sweep. At each strike `at_once` of the attacks are made, in turns; each process
    that strikes takes the next victims.
    """

    folder: str
    target: Target
    victims: Sequence[Victim]
    at_once: int = len(ATTACKS)

    def strike(self, moment: str) -> None:
        """Makes some attacks, and writes down what becomes of them. Does nothing when no victims
        are left.
        """
        for number in itertools.islice(self._next(), self.at_once):
            attack = ATTACKS[number % len(ATTACKS)]
            attempt = self._attempt(attack, self.victims[number], moment)
            Path(self.folder, f"attempt-{number}.json").write_text(json.dumps(attempt))

    def attempts(self, attack: str = "") -> list[Attempt]:
        """Returns what has become of the attacks until now."""
        found = []
        for file in sorted(Path(self.folder).glob("attempt-*.json")):
            name, victim, moment, place, refusal = json.loads(file.read_text())
            if attack in {"", name}:
                where = None if place is None else Place(*place)
                found.append(Attempt(name, victim, moment, where, refusal))
        return found

    def lost(self) -> list[Attempt]:
        """Returns the attempts whose victims could be read, and cannot any more."""
        bodies = {victim.number: victim.body for victim in self.victims}
        return [
            attempt
            for attempt in self.attempts()
            if attempt.place is not None
            and self.target.read(attempt.place) != bodies[attempt.victim]
        ]

    def _next(self) -> Iterator[int]:
        """Yields the numbers of attempts that no other process makes."""
        for number in range(len(self.victims)):
            try:
                os.close(os.open(f"{self.folder}/claim-{number}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            yield number

    def _attempt(self, attack: Attack, victim: Victim, moment: str) -> Attempt:
        made = Attempt(attack.__name__, victim.number, moment, None, "")
        try:
            place = attack(self.target, victim)
        except Refused as error:
            hinted = bool(error.hint) or attack is import_object
            if error.kind in REFUSALS and (error.status, hinted) == (_CONFLICT, True):
                return made._replace(refusal=error.kind)
            if error.kind in _TOO_LATE or error.status == _GONE:
                return made._replace(refusal="too late")
            return made._replace(refusal=f"unexpected: {error}")
        readable = self.target.read(place) == victim.body
        return made._replace(place=place) if readable else made._replace(refusal="made too late")
