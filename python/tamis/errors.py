"""Exceptions. All of them are subclasses of :class:`tamis.Error`.

>>> import tamis
>>> issubclass(tamis.ParseError, ValueError) and issubclass(tamis.ParseError, tamis.Error)
True
"""

import os as _os
import sys as _sys
import warnings as _warnings


class Error(Exception):
    """Base class of the exceptions of this package."""


class ParseError(Error, ValueError):
    """The contents of a file are malformed; ``file``, ``line`` and ``column`` say where, if known."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


class DataError(Error, ValueError):
    """Rows, labels or weights are not valid for the task; ``row`` (from 0) says where, if known."""

    row: int | None = None


class ParamError(Error, ValueError):
    """A parameter is out of range, or two parameters are incompatible."""


class DivergedError(Error, ArithmeticError):
    """Training diverged: a weight is not finite."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class ModelError(Error, OSError):
    """A file is not a model, is damaged, or was written by a newer version."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class Note(UserWarning):
    """A warning about a model that was fitted nevertheless."""


def warn(text: str) -> None:
    """Issues a note of the core as a warning, at the line that called this package."""
    frame, level = _sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tamis":
        frame, level = frame.f_back, level + 1
    _warnings.warn(text, Note, stacklevel=level)


def missing_file(path) -> None:
    """Raises an error if a file does not exist."""
    if not _os.path.exists(path):
        raise MissingFileError(f"{_os.fspath(path)}: No such file or directory")
