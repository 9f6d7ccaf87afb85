"""Releases in parts: equal to one process, once in a ledger, and refused where a part is lost, repeated with other rows, or hostile."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import random
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surety_dp as surety
from surety_dp import parts

OWNERS = np.arange(600) // 5
HOURS = np.arange(600) * 7 % 83
STATISTICS = [surety.mean("hours", bounds=(0, 80)), surety.count(where="hours > 40"), surety.median("hours", bounds=(0, 80))]
PROMISE: dict[str, Any] = {"epsilon": 3, "adjacency": "replace-one"}


def plan_of(unit: str | None, **more: Any) -> surety.Plan:
    most = None if unit is None else 3
    return surety.plan(STATISTICS, **{"unit": unit, "most": most, **PROMISE, **more})


def rows(where: Any) -> dict[str, Any]:
    return {"who": OWNERS[where], "hours": HOURS[where]}


def of_parts(ticket: parts.Ticket, numbers: Any) -> list[bytes]:
    return [parts.partial(ticket, part, rows(numbers == part)) for part in range(ticket.parts)]


@pytest.mark.parametrize("unit", [None, "who"])
def test_parts_are_one_process(unit: str | None) -> None:
    made = plan_of(unit, replay_seed=5)
    whole = made.release(rows(slice(None)), ledger=surety.Ledger.in_memory())
    for count in (1, 2, 7):
        ledger = surety.Ledger.in_memory()
        ticket = parts.assign(made, count, ledger=ledger)
        assert (ticket.parts, ticket.owner, ticket.unit) == (count, unit, made.unit)
        numbers = np.arange(600) % count if unit is None else ticket.part_of(OWNERS)
        partials = of_parts(pickle.loads(pickle.dumps(ticket)), numbers)
        assert partials == of_parts(parts.Ticket(bytes(ticket)), numbers)  # a task that is retried
        shuffled = random.Random(count).sample(partials, count)
        tree = parts.merge([parts.merge(shuffled[: count // 2 + 1]), *shuffled[count // 2 + 1 :]])
        assert tree == parts.merge(iter(partials))
        released = parts.finish(ticket, tree, ledger=ledger)
        assert released.table == whole.table and released.json() == whole.json()
        assert "NOT PRIVATE" in repr(released)
        [run] = ledger.audit(1e-6)["runs"]
        assert "[ticket " in run["note"]


def test_noise_is_new_without_a_seed() -> None:
    values = set()
    for _ in range(3):
        ledger = surety.Ledger.in_memory()
        ticket = parts.assign(plan_of("who"), 2, ledger=ledger)
        released = parts.finish(ticket, parts.merge(of_parts(ticket, ticket.part_of(OWNERS))), ledger=ledger)
        assert "NOT PRIVATE" not in repr(released)
        values.add(released.table[0].value)
    assert len(values) == 3


def test_a_part_that_is_lost_or_repeated_is_refused_before_the_charge(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    ticket = parts.assign(plan_of("who"), 3, ledger=path)
    other = parts.assign(plan_of("who"), 3, ledger=path)
    numbers = ticket.part_of(OWNERS)
    partials = of_parts(ticket, numbers)
    fewer = parts.partial(ticket, 1, rows(np.flatnonzero(numbers == 1)[:-4]))
    whole = parts.merge(partials)

    def refused(action: Callable[[], Any], words: str) -> None:
        with pytest.raises(surety.InvalidArgument, match=words) as caught:
            action()
        assert not hasattr(caught.value, "__notes__")

    for lost in range(3):
        kept = [partial for part, partial in enumerate(partials) if part != lost]
        refused(lambda: parts.finish(ticket, parts.merge(kept), ledger=path), f"part {lost} is missing: the partial has 2 of 3")
    refused(lambda: parts.merge([*partials, fewer]), "part 1 is in both partials")
    refused(lambda: parts.merge([whole, partials[1]]), "part 1 is in both partials")
    refused(lambda: parts.merge([partials[0], parts.partial(ticket, 1, rows(numbers == 0))]), "one bucket of owners are in both")
    refused(lambda: parts.merge([partials[0], of_parts(other, numbers)[1]]), "of two tickets")
    refused(lambda: parts.finish(other, whole, ledger=path), "of another ticket")
    refused(lambda: parts.merge([]), "there are no partials")
    refused(lambda: parts.partial(ticket, 3, rows(numbers == 0)), "part is 3, must be below 3")
    assert not path.exists()

    # The same bytes twice are one part: they count once.
    assert parts.merge([partials[2], *partials, partials[0]]) == whole
    assert parts.finish(ticket, whole, ledger=path).run == 1
    refused(lambda: parts.finish(ticket, whole, ledger=path), r"has the mark \[ticket .*it is settled")
    assert len(surety.Ledger(path).audit(1e-6)["runs"]) == 1


def test_rows_of_csv_and_of_frames_are_not_mixed(tmp_path: Path) -> None:
    ledger = surety.Ledger.in_memory()
    ticket = parts.assign(plan_of("who"), 2, ledger=ledger)
    numbers = ticket.part_of(OWNERS)
    files = []
    for part in range(2):
        files.append(tmp_path / f"{part}.csv")
        lines = [f"{who},{hours}\n" for who, hours in zip(*rows(numbers == part).values(), strict=True)]
        files[-1].write_text("who,hours\n" + "".join(lines))
    of_files = [parts.partial(ticket, part, file) for part, file in enumerate(files)]
    with pytest.raises(surety.InvalidArgument, match="one was read from CSV and one from Arrow|one partial was read from CSV"):
        parts.merge([of_files[0], parts.partial(ticket, 1, rows(numbers == 1))])
    assert parts.finish(ticket, parts.merge(of_files), ledger=ledger).run == 1


def test_the_ledger_is_asked_before_and_charged_before_noise(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    surety.Ledger.create(path, adjacency="replace-one", epsilon=4, delta=0, filter="basic", owner="who", most_rows=3).close()
    ticket = parts.assign(plan_of("who"), 1, ledger=path)
    late = parts.assign(plan_of("who"), 1, ledger=path)
    assert parts.finish(ticket, parts.merge(of_parts(ticket, np.zeros(600))), ledger=path).run == 1
    with pytest.raises(surety.BudgetExceeded):
        parts.assign(plan_of("who"), 1, ledger=path)
    with pytest.raises(surety.BudgetExceeded):
        parts.finish(late, parts.merge(of_parts(late, np.zeros(600))), ledger=path)
    with pytest.raises(surety.SystemFailure):
        parts.assign(plan_of("who"), 1, ledger=tmp_path / "mistyped.db", ledger_must_exist=True)
    assert len(surety.Ledger(path).audit(1e-6)["runs"]) == 1 and not (tmp_path / "mistyped.db").exists()


def test_owners_are_put_into_parts_by_their_names() -> None:
    ticket = parts.assign(plan_of("who"), 4096, ledger=surety.Ledger.in_memory())
    same = ticket.part_of([7, "7", 7.0, np.int8(7)])
    assert len(set(same.tolist())) == 1 and same[0] == 0x8F1  # md5sum of 7
    assert ticket.part_of([None, "", float("nan")]).tolist() == [0xD41] * 3
    assert len(set(ticket.part_of(["7", "07", " 7", "  ", "café"]).tolist())) == 5
    assert ticket.part_of(np.array([], np.int64)).tolist() == []
    # Rows that are found so by the library are in one part: no merge refuses them.
    names: list[Any] = [None, "", " ", "  ", "7", 7, "07", 7.5, "7.5", True, "true", "é", 2**70, -1, "-1", "\u2003"] * 3
    small = parts.assign(plan_of("who"), 5, ledger=surety.Ledger.in_memory())
    numbers = small.part_of(names)
    partials = [parts.partial(small, k, {"who": [name for name, part in zip(names, numbers, strict=True) if part == k], "hours": [1] * int(sum(numbers == k))}) for k in range(5)]
    assert parts.merge(partials)
    with pytest.raises(surety.InvalidArgument, match="each row is a unit of its own"):
        parts.assign(plan_of(None), 5, ledger=surety.Ledger.in_memory()).part_of([1])


def test_a_row_with_nothing_but_an_owner_is_in_the_part_of_the_owner() -> None:
    ledger = surety.Ledger.in_memory()
    made = plan_of("who", replay_seed=3)
    ticket = parts.assign(made, 4, ledger=ledger)
    table: dict[str, list[Any]] = {"who": [*range(40), *range(40)], "hours": [None] * 40 + [1] * 20 + [None] * 20}
    numbers = ticket.part_of(table["who"])
    partials = [parts.partial(ticket, k, {name: [cell for cell, part in zip(column, numbers, strict=True) if part == k] for name, column in table.items()}) for k in range(4)]
    released = parts.finish(ticket, parts.merge(partials), ledger=ledger)
    assert released.table == made.release(table, ledger=surety.Ledger.in_memory()).table


def test_arguments_of_another_type_are_refused() -> None:
    ledger = surety.Ledger.in_memory()
    ticket = parts.assign(plan_of(None), 1, ledger=ledger)
    one = parts.partial(ticket, 0, rows(slice(None)))
    calls: list[Callable[[], Any]] = [
        lambda: parts.assign("plan", 1, ledger=ledger),  # type: ignore[arg-type]
        lambda: parts.assign(plan_of(None), 1.5, ledger=ledger),  # type: ignore[arg-type]
        lambda: parts.assign(plan_of(None), 1, ledger=3),  # type: ignore[arg-type]
        lambda: parts.partial(bytes(ticket), 0, rows(slice(None))),  # type: ignore[arg-type]
        lambda: parts.partial(ticket, 0, None),
        lambda: parts.partial(ticket, 0, [1]),
        lambda: parts.merge(one),  # type: ignore[arg-type]
        lambda: parts.merge(["text"]),  # type: ignore[list-item]
        lambda: parts.finish(ticket, "text", ledger=ledger),  # type: ignore[arg-type]
        lambda: parts.Ticket("text"),  # type: ignore[arg-type]
        lambda: parts.finish(ticket, one, ledger=ledger, must_exist=True),  # type: ignore[call-arg]
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    for count in (0, -1, 2**20 + 1, 2**32, 2**70):
        with pytest.raises(surety.InvalidArgument, match="parts"):
            parts.assign(plan_of(None), count, ledger=ledger)
    assert parts.finish(ticket, bytearray(one), ledger=ledger).run == 1  # type: ignore[arg-type]


def test_a_ticket_shows_nothing_private_and_is_a_value() -> None:
    ticket = parts.assign(plan_of("who"), 2, ledger=surety.Ledger.in_memory())
    assert repr(ticket) == f"{ticket}" == "<Ticket of 2 parts, for one who of at most 3 rows (names byte by byte, rows without one: one unit)>"
    assert copy.deepcopy(ticket) == ticket and hash(copy.copy(ticket)) == hash(ticket) and ticket != parts.assign(plan_of("who"), 2, ledger=surety.Ledger.in_memory())
    with pytest.raises(AttributeError):
        ticket.parts = 3  # type: ignore[misc]


def test_private_files_are_of_their_owner(tmp_path: Path) -> None:
    ticket = parts.assign(plan_of(None), 1, ledger=surety.Ledger.in_memory())
    before = os.umask(0)
    try:
        parts.write_private_file(tmp_path / "ticket", ticket)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ticket").stat().st_mode) == 0o600
    assert parts.Ticket((tmp_path / "ticket").read_bytes()) == ticket
    with pytest.raises(surety.InvalidArgument, match="is there already"):
        parts.write_private_file(tmp_path / "ticket", b"")


def changed(data: bytes, chance: random.Random) -> bytes:
    """Truncated, with other bytes, with bytes left out or put in, or with a piece at another place."""
    made, place, kind = bytearray(data), chance.randrange(len(data)), chance.randrange(5)
    if kind == 0:
        return bytes(made[:place])
    if kind == 1:
        for _ in range(chance.randint(1, 8)):
            made[chance.randrange(len(made))] ^= chance.randint(1, 255)
    elif kind == 2:
        del made[place : place + chance.randint(1, 40)]
    elif kind == 3:
        made[place:place] = chance.randbytes(chance.randint(1, 40))
    else:
        end = chance.randint(place, len(made))
        made[place:end] = made[place:end][::-1]
    return bytes(made)


@pytest.mark.parametrize("unit", [None, "who"])
def test_changed_bytes_are_bad_data(unit: str | None) -> None:
    ledger = surety.Ledger.in_memory()
    ticket = parts.assign(plan_of(unit), 2, ledger=ledger)
    partials = of_parts(ticket, np.arange(600) % 2 if unit is None else ticket.part_of(OWNERS))
    chance = random.Random(11)
    refused = 0
    for turn in range(1000):
        data = bytes(ticket) if turn % 4 == 0 else partials[0]
        hostile = changed(data, chance)
        if hostile == data:
            continue
        actions: list[Callable[[], Any]] = [lambda: parts.Ticket(hostile)]
        if turn % 4:
            actions = [lambda: parts.merge([hostile, partials[1]]), lambda: parts.finish(ticket, hostile, ledger=ledger)]
        for action in actions:
            with pytest.raises(surety.BadData) as caught:
                action()
            assert len(str(caught.value)) < 200
        refused += 1
    assert refused > 950
    # What is sealed, and of another kind, of another ticket or of another plan.
    fewer = surety.plan(STATISTICS[:1], unit=unit, most=None if unit is None else 3, **PROMISE)
    for strange in (parts.assign(plan_of(unit), 2, ledger=ledger), parts.assign(fewer, 2, ledger=ledger), parts.assign(plan_of(unit), 3, ledger=ledger)):
        for one, two in itertools.product([parts.partial(strange, 1, rows(slice(0)))], partials):
            with pytest.raises(surety.InvalidArgument, match="of two tickets"):
                parts.merge([one, two])
    with pytest.raises(surety.BadData):
        parts.merge([bytes(ticket), *partials])
    with pytest.raises(surety.BadData):
        parts.Ticket(partials[0])
    assert parts.finish(ticket, parts.merge(partials), ledger=ledger).run == 1


def test_threads_share_a_plan() -> None:
    """Tickets are made of a plan while it is released."""
    made = plan_of(None, replay_seed=8)
    whole = made.release(rows(slice(None)), ledger=surety.Ledger.in_memory()).table

    def turn(number: int) -> bool:
        ledger = surety.Ledger.in_memory()
        if number % 2:
            return made.release(rows(slice(None)), ledger=ledger).table == whole
        ticket = parts.assign(made, 1, ledger=ledger)
        return parts.finish(ticket, parts.partial(ticket, 0, rows(slice(None))), ledger=ledger).table == whole

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(turn, range(48)))


def test_parts_of_combinations_are_one_process() -> None:
    days = np.array([f"2024-01-0{1 + k}" if k else "" for k in np.arange(600) % 4])
    table = {"who": OWNERS, "day": days, "hours": HOURS}
    made = surety.plan(STATISTICS, **{**PROMISE, "unit": ["who", "day"], "most": 1, "replay_seed": 5})
    whole = made.release(table, ledger=surety.Ledger.in_memory())
    ledger = surety.Ledger.in_memory()
    ticket = parts.assign(made, 3, ledger=ledger)
    assert ticket.owner == ("who", "day")
    numbers = ticket.part_of(OWNERS, days)
    partials = [parts.partial(ticket, part, {name: column[numbers == part] for name, column in table.items()}) for part in range(3)]
    released = parts.finish(ticket, parts.merge(partials), ledger=ledger)
    assert released.table == whole.table and released.json() == whole.json()
    # By the first column alone, rows of the unit without a name are in several parts.
    by_owner = parts.assign(plan_of("who"), 3, ledger=surety.Ledger.in_memory()).part_of(OWNERS)
    with pytest.raises(surety.InvalidArgument, match="rows of one bucket of owners are in both partials"):
        parts.merge([parts.partial(ticket, part, {name: column[by_owner == part] for name, column in table.items()}) for part in range(3)])
    with pytest.raises(TypeError, match="part_of got 1 columns, must get 2: who, day"):
        ticket.part_of(OWNERS)
