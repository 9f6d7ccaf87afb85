"""The errors of the library, as Python's."""

from __future__ import annotations

import enum


class ErrorCode(enum.IntEnum):
    """What went wrong. The numbers are for ever, and those of surety.h."""

    INVALID_ARGUMENT = 1  #: an argument breaks its constraint, or two do not fit together
    UNSUPPORTED = 2  #: no theorem is known for the event
    BAD_DATA = 3
    BUDGET_EXCEEDED = 4  #: a reservation would exceed the ledger's budget, or a release what is left of its reservation
    DAMAGED_LEDGER = 5
    ENVIRONMENT = 6  #: the machine refused: full disk, no entropy, no permission
    UNREACHABLE = 7  #: no value meets the target
    MEMORY = 8  #: an answer of the width asked for would take more memory than allowed
    INTERNAL = 9  #: a defect in Surety itself
    STOPPED = 10  #: a question took longer than its ``limit_seconds``


class SuretyError(Exception):
    """A refusal. Its text is one line that names the value, the constraint it breaks and what to do; ``code`` says of which kind it is, and so does
    its class: ``BadData``, ``BudgetExceeded``, ``DamagedLedger``, ``InternalError``, ``InvalidArgument``, ``MemoryLimit``, ``NotSupported``, ``Stopped``,
    ``SystemFailure`` or ``Unreachable``.

    One for an argument is a ``ValueError``, too:

    >>> import surety_dp as surety
    >>> try:
    ...     surety.epsilon("gaussian(0)", delta=1e-5, adjacency="replace-one")
    ... except ValueError as error:
    ...     print(error.code.name, isinstance(error, surety.SuretyError))
    INVALID_ARGUMENT True
    """

    code: ErrorCode

    def __init__(self, message: str, code: int = ErrorCode.INTERNAL) -> None:
        super().__init__(message)
        self.code = ErrorCode(code)

    def __reduce__(self) -> tuple[type[SuretyError], tuple[str, int]]:
        return type(self), (str(self), int(self.code))


class InvalidArgument(SuretyError, ValueError):
    """An argument breaks its constraint: the ``SuretyError`` that is a ``ValueError``."""


class NotSupported(SuretyError):
    """No theorem is known for what was requested."""


class BadData(SuretyError):
    """A file or a table is not what the arguments say."""


class BudgetExceeded(SuretyError):
    """A run would exceed the budget of the ledger, or a release what is left of its reservation. Nothing was charged, and nothing may be released."""


class DamagedLedger(SuretyError):
    """A file is no ledger, or not an intact one. It is left as it is."""


class SystemFailure(SuretyError):
    """The machine refused: a full disk, a file that is not there or may not be read, no entropy."""


class Unreachable(SuretyError):
    """No value meets the target."""


class MemoryLimit(SuretyError):
    """An answer of the requested width needs more memory than allowed. Memory that runs out raises ``MemoryError``."""


class InternalError(SuretyError):
    """A defect of Surety itself. Nothing of its answer may be used."""


class Stopped(SuretyError):
    """A question took longer than its ``limit_seconds``, or was called off."""


#: By the code: the class, and what to do, which ends the message. An invalid argument's message names the constraint, which is what to do.
_KINDS: dict[int, tuple[type[SuretyError], str]] = {
    ErrorCode.INVALID_ARGUMENT: (InvalidArgument, ""),
    ErrorCode.UNSUPPORTED: (NotSupported, "change the event, option or algorithm that is named"),
    ErrorCode.BAD_DATA: (BadData, "correct the data, or the arguments that describe them"),
    ErrorCode.BUDGET_EXCEEDED: (BudgetExceeded, "reserve more before the run starts"),
    ErrorCode.DAMAGED_LEDGER: (DamagedLedger, "restore a copy that holds every charge; a new ledger would forget what was spent"),
    ErrorCode.ENVIRONMENT: (SystemFailure, "correct the path, the permission or the resource that is named"),
    ErrorCode.UNREACHABLE: (Unreachable, "allow a larger epsilon or delta, or release less"),
    ErrorCode.MEMORY: (MemoryLimit, "set a larger width, or release something simpler"),
    ErrorCode.INTERNAL: (InternalError, "report the call as a defect"),
    ErrorCode.STOPPED: (Stopped, "set a larger limit_seconds or width"),
}
_OF_BUDGET = "release less or with more noise; Ledger.room_for and Ledger.split_evenly say how much"


def error_of(code: int, message: str) -> SuretyError:
    """What the library throws, with what to do about it."""
    kind, remedy = _KINDS[code]
    if kind is BudgetExceeded and message.startswith("the budget"):
        remedy = _OF_BUDGET
    return kind(f"{message}; {remedy}" if remedy else message, code)
