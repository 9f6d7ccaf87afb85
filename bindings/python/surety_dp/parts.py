"""Releases of a table that lies in parts: each part is read where it lies, exact sums are merged, and noise is drawn once, after the charge.

>>> import numpy as np
>>> import surety_dp as surety
>>> from surety_dp import parts
>>> owner, hours = np.arange(4000) // 4, np.full(4000, 38.0)
>>> plan = surety.plan([surety.mean("hours", bounds=(0, 80))], unit="owner", most=4, epsilon=2, adjacency="replace-one")
>>> ledger = surety.Ledger.in_memory()
>>> ticket = parts.assign(plan, 3, ledger=ledger)
>>> part = ticket.part_of(owner)
>>> partials = [parts.partial(ticket, k, {"owner": owner[part == k], "hours": hours[part == k]}) for k in range(3)]
>>> released = parts.finish(ticket, parts.merge(partials), ledger=ledger)
>>> released.run, released.cost.upper <= 2
(1, True)

The result is that of ``Plan.release`` on the whole table: equal to the last bit with the same ``replay_seed``.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any, SupportsIndex, final

import numpy as np
import numpy.typing as npt

from surety_dp import _arguments, _library
from surety_dp._ledger import Ledger
from surety_dp._release import Plan, _ledger_of, _require_ledger, note_what_was_charged
from surety_dp._released import Released
from surety_dp._signatures import check_keywords
from surety_dp._sources import source_of

__all__ = ["Ticket", "assign", "finish", "merge", "partial", "write_private_file"]

_MOST_PARTS = 1 << 20


@final
class Ticket:
    """What the parts of one release must agree on: its plan, its noise, the number of parts, and the key that chooses rows of owners. Made by ``assign``.

    PRIVATE: with the key a person can write rows that will be selected. ``bytes(ticket)`` are what is stored and sent, and ``Ticket(bytes)`` reads them, in the same
    version of Surety; a ticket pickles. No text of it shows more than the number of parts and the unit. It never changes.

    Parameters
    ----------
    data : bytes
        Of ``bytes(ticket)``.

    Raises
    ------
    BadData
        The bytes are no ticket, are truncated, were changed, or were made by another version of Surety.
    """

    __slots__ = ("_bytes", "_facts")

    _bytes: bytes
    _facts: tuple[int, list[str], str, bool, bool]

    def __init__(self, data: bytes) -> None:
        self._bytes = _bytes_of("data", data)
        self._facts = _library.facts_of_ticket(self._bytes)

    @property
    def parts(self) -> int:
        """The number of parts. They are numbered 0, 1, ..., and ``finish`` needs each of them once."""
        return self._facts[0]

    @property
    def owner(self) -> str | tuple[str, ...] | None:
        """The column that names the owner of a row, or the columns whose combination does; None where each row is a unit of its own."""
        columns = self._facts[1]
        return columns[0] if len(columns) == 1 else tuple(columns) or None

    @property
    def unit(self) -> str:
        """Whom the promise protects: "one row", "one nr of at most 8 rows (...)"."""
        return self._facts[2]

    def part_of(self, *owners: Any) -> npt.NDArray[np.int64]:
        """The part of each row: the first three hexadecimal digits of the MD5 of the owner's name as a number, modulo the number of parts. Of a combination the
        name is the text of its first column, or empty where a cell of the combination is missing.

        Parameters
        ----------
        owners : column
            The column of owners, as tables have columns: an array, a list, or a column of pandas, polars or pyarrow. Of a combination all its columns, in the
            order of ``owner``.

        Returns
        -------
        array of int64
            One number for each row, from 0 to ``parts`` - 1. All rows of one owner have the same; so have all rows without a name.

        Raises
        ------
        InvalidArgument
            Each row is a unit of its own. Then any split is allowed.
        TypeError
            ``owners`` is no column, or there are more or fewer of them than the unit has.
        """
        if self.owner is None:
            raise _arguments.invalid("part_of needs an owner of rows, and each row is a unit of its own: put each row into one part, in any way")
        if len(owners) != len(self._facts[1]):
            raise TypeError(f"part_of got {len(owners)} columns, must get {len(self._facts[1])}: {', '.join(self._facts[1])}")
        source = source_of({f"owner {place}": column for place, column in enumerate(owners)}, True)
        return np.frombuffer(_library.buckets_of(source), np.uint16).astype(np.int64) % self.parts

    def __bytes__(self) -> bytes:
        return self._bytes

    def __eq__(self, other: object) -> bool:
        return self._bytes == other._bytes if isinstance(other, Ticket) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __reduce__(self) -> tuple[type[Ticket], tuple[bytes]]:
        return Ticket, (self._bytes,)

    def __repr__(self) -> str:
        return f"<Ticket of {self.parts} parts, for {self.unit}>"


def _bytes_of(name: str, value: object) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name} is of type {type(value).__name__}, must be bytes")
    return bytes(value)


def _ticket_of(value: object) -> Ticket:
    if not isinstance(value, Ticket):
        raise TypeError(f"ticket is of type {type(value).__name__}, must be a surety_dp.parts.Ticket: assign makes one, and Ticket(data) reads its bytes")
    return value


def assign(plan: Plan, parts: SupportsIndex, *, ledger: str | PathLike[str] | Ledger, ledger_must_exist: bool = False) -> Ticket:
    """Fixes the number of parts of a release, and draws the key that chooses rows of owners. Checks the ledger, and charges nothing.

    Parameters
    ----------
    plan : Plan
        As ``surety.plan`` makes it.
    parts : int
        The number of parts, from 1 to 2^20. With an owner there are 4,096 buckets of owners, so that more parts than that leave some empty.
    ledger : path or Ledger
        The ledger that ``finish`` will charge: what it would refuse now is refused. A path without a file is left without one.
    ledger_must_exist : bool
        Whether a path without a ledger is an error.

    Returns
    -------
    Ticket
        Private. Each call makes another one, for one release.

    Raises
    ------
    InvalidArgument
        The number of parts is out of its range, or the ledger is of another unit.
    BudgetExceeded
        The budget of the ledger does not allow it.
    NotSupported
        The plan has queries that no ticket can hold.
    SystemFailure
        The ledger cannot be opened, or the machine gives no random bits.
    TypeError
        An argument has another type.
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan is of type {type(plan).__name__}, must be a surety.Plan, as surety.plan makes it")
    number = _arguments.whole("parts", parts)
    if not 1 <= number <= _MOST_PARTS:
        raise _arguments.invalid(f"parts are {number}, must be from 1 to {_MOST_PARTS}")
    _require_ledger(ledger, ledger_must_exist)
    return Ticket(_library.begin_parts(plan._handle, number, _ledger_of(ledger), ledger_must_exist))


def partial(ticket: Ticket, part: SupportsIndex, data: Any) -> bytes:
    """Adds up one part. Releases nothing, and charges nothing. The same part gives the same bytes, in whatever process.

    Parameters
    ----------
    ticket : Ticket
        Of ``assign``.
    part : int
        The number of the part, from 0 to ``ticket.parts`` - 1.
    data : frame, mapping of names to columns, structured array or path
        The rows of the part, which may be none: what ``surety.release`` takes. A reader of record batches is read batch by batch. With an owner, all rows of an
        owner are in one part, and all parts are CSV files or none is.

    Returns
    -------
    bytes
        Exact counts and sums, the number of the part and the buckets of its owners. PRIVATE.

    Raises
    ------
    InvalidArgument
        There is no part with this number.
    BadData
        A column is missing or of another type. No message shows a cell, unless ``form_is_public``.
    TypeError
        An argument has another type.

    Notes
    -----
    Memory: without an owner, one batch of records and the sums. With an owner, the used cells of all rows of the part.
    """
    ticket = _ticket_of(ticket)
    number = _arguments.whole("part", part)
    if number >= ticket.parts:
        raise _arguments.invalid(f"part is {number}, must be below {ticket.parts}, the number of parts")
    if data is None:
        raise _arguments.wrong_type("data", data, "a table or the path of one")
    return _library.partial_of(ticket._bytes, number, source_of(data, ticket._facts[3]))


def merge(partials: Iterable[bytes]) -> bytes:
    """Adds up what partials have added up. In any order and any tree the result has the same bytes.

    Parameters
    ----------
    partials : iterable of bytes
        At least one, of ``partial`` or of ``merge``. Partials of equal bytes count once: a task that was retried makes the same bytes again.

    Returns
    -------
    bytes
        A partial of all their parts. PRIVATE.

    Raises
    ------
    InvalidArgument
        Two partials have a part in common and differ, have a bucket of owners in common, or are of different tickets; with an owner, one was read from CSV and
        another one was not; or there are no partials.
    BadData
        One of them is no partial, is truncated, or was changed.
    TypeError
        An argument has another type.
    """
    return _library.merge_partials([_bytes_of("an item of partials", one) for one in _arguments.items("partials", partials, "a list of bytes")])


def finish(ticket: Ticket, partial: bytes, *, ledger: str | PathLike[str] | Ledger, ledger_must_exist: bool = False) -> Released:
    """Charges the ledger, draws noise once, and releases what all parts add up to.

    Parameters
    ----------
    ticket : Ticket
        Of ``assign``.
    partial : bytes
        Of ``merge``, with all parts of the ticket.
    ledger : path or Ledger
        Where the cost is charged before noise is drawn. A path without a file makes a ledger, unless ``ledger_must_exist``.
    ledger_must_exist : bool
        Whether a path without a ledger is an error.

    Returns
    -------
    Released
        As of ``surety.release``. The note of its run ends with the public number of the ticket.

    Raises
    ------
    InvalidArgument
        A part is missing, the partial is of another ticket, the ledger has a run of this ticket already, or the plan needs other noise on this machine. Nothing
        is charged.
    BadData
        The partial is none, is truncated, or was changed. Nothing is charged.
    BudgetExceeded
        The budget of the ledger does not allow it.
    SystemFailure
        The ledger cannot be opened or written.
    TypeError
        An argument has another type.

    Notes
    -----
    A ticket is finished once in a ledger. A call that fails after the charge leaves it charged, which a note at the exception reports; the ticket is then refused,
    and another release needs another ticket. A ticket of a plan with ``replay_seed`` replays its noise, and the release is NOT PRIVATE.
    """
    ticket = _ticket_of(ticket)
    whole = _bytes_of("partial", partial)
    _require_ledger(ledger, ledger_must_exist)
    run = _library.run_parts(_ledger_of(ledger), ledger_must_exist)
    try:
        return Released._of(run.go(ticket._bytes, whole))
    except BaseException as error:
        note_what_was_charged(error, run.charged())
        raise




def write_private_file(path: str | PathLike[str], data: bytes | Ticket) -> None:
    """Writes a ticket or a partial into a new file that its owner alone may read (mode 0600): durably, in one step or not at all.

    Raises ``InvalidArgument`` where the path exists already, and ``SystemFailure`` where the machine refuses.
    """
    _library.write_private_file(_arguments.path("path", path), bytes(data) if isinstance(data, Ticket) else _bytes_of("data", data))


check_keywords(globals(), __all__)
