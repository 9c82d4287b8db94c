"""What can go wrong: one class for each stage. All of them are a :class:`tamis.Error`.

>>> import tamis
>>> issubclass(tamis.ParseError, ValueError) and issubclass(tamis.ParseError, tamis.Error)
True
"""

import warnings as _warnings


class Error(Exception):
    """Anything this package complains of."""


class ParseError(Error, ValueError):
    """A file holds something that cannot be read; ``file``, ``line`` and ``column`` say where, if that is known."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


class DataError(Error, ValueError):
    """Rows, labels or weights that cannot be learned from; ``row`` (from 0) says where, if that is known."""

    row: int | None = None


class ParamError(Error, ValueError):
    """A parameter out of range, or two that do not go together."""


class DivergedError(Error, ArithmeticError):
    """A weight is no longer a finite number."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class ModelError(Error, OSError):
    """A file that is no model, is damaged, or is from a newer version."""


class Note(UserWarning):
    """Something a user should know about a model that was made all the same."""


def warn(text: str) -> None:
    """Warns of something the core noted."""
    _warnings.warn(text, Note, stacklevel=4)
