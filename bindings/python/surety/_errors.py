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
    """A refusal. Its text is one line that names the value and the constraint it breaks; ``code`` says of which kind it is.

    One for an argument is a ``ValueError``, too:

    >>> import surety
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


_KINDS: dict[int, type[SuretyError]] = {
    ErrorCode.INVALID_ARGUMENT: InvalidArgument,
    ErrorCode.UNSUPPORTED: NotSupported,
    ErrorCode.BAD_DATA: BadData,
    ErrorCode.BUDGET_EXCEEDED: BudgetExceeded,
}


def error_of(code: int, message: str) -> SuretyError:
    """What the library throws."""
    return _KINDS.get(code, SuretyError)(message, code)
