"""Frames for the core: pandas, polars and Arrow tables, whose columns of strings are categories."""

import numpy as np

from .errors import DataError


def is_mixed(X) -> bool:
    """Whether ``X`` is a table that scikit-learn cannot convert to numbers: Arrow data, or columns that are not numbers."""
    if not hasattr(X, "__arrow_c_stream__"):
        return False
    if not hasattr(X, "dtypes"):  # the core reads pyarrow, DuckDB, … directly
        return True
    kinds = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
    return not all(_is_number(kind) for kind in kinds)


def _is_number(kind) -> bool:
    if isinstance(kind, np.dtype):
        return kind.kind in "biuf"
    if str(kind) == "category":  # of pandas: numbers there are categories, too
        return False
    numeric = getattr(kind, "is_numeric", None)  # polars has a method, pandas a private attribute
    if callable(numeric):
        return bool(numeric()) or str(kind) == "Boolean"
    return bool(getattr(kind, "_is_numeric", False) or getattr(kind, "_is_boolean", False) or "Sparse" in str(kind))


def has_missing(X) -> bool:
    """Whether a frame of pandas or polars has missing cells."""
    if hasattr(X, "iloc"):
        return bool(X.isna().to_numpy().any())
    counts = getattr(X, "null_count", None)
    return bool(sum(counts().row(0))) if callable(counts) else False


def arrow_of(X):
    """A table as an Arrow stream. The index of pandas is not a column: it would be learned as a feature."""
    if hasattr(X, "iloc"):
        return _arrow_of_pandas(X)
    if hasattr(X, "__len__") or hasattr(X, "num_rows"):
        return X
    import pyarrow

    return pyarrow.table(X)  # a reader of batches, whose rows must be counted


def _arrow_of_pandas(X):
    import pyarrow

    names = [str(name) for name in X.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the column {twice[0]!r} occurs twice")
    columns = []
    for place, name in enumerate(names):
        try:
            columns.append(pyarrow.array(_plain(X.iloc[:, place]), from_pandas=True))
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            text = f"the column {name!r} holds values of different types, or of one that is not supported: {error}"
            raise DataError(text) from error
    return pyarrow.Table.from_arrays([_flat(column) for column in columns], names=names)


def _flat(column):
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _plain(series):
    """A column whose type Arrow and the core understand: categories as strings, periods as times, sparse ones as dense."""
    kind = str(series.dtype)
    if kind == "category" and series.cat.categories.dtype.kind in "biuf":
        return series.astype(object).map(str, na_action="ignore")
    if kind.startswith("period"):
        return series.dt.to_timestamp()
    return series.sparse.to_dense() if kind.startswith("Sparse") else series


def column_names(X) -> list[str]:
    """The names of a table's columns."""
    names = getattr(X, "columns", None)
    if names is None or (not hasattr(X, "iloc") and not all(isinstance(name, str) for name in names)):
        names = getattr(X, "column_names", None) or X.schema.names
    return [str(name) for name in names]


def rows_of(X, y) -> int:
    """The number of rows of a table; the number of labels must be the same."""
    rows = len(X) if hasattr(X, "__len__") else X.num_rows
    if y is not None and len(y) != rows:
        raise DataError(f"Found input variables with inconsistent numbers of samples: {rows}, {len(y)}")
    return rows


def check_names(seen: list[str], X) -> None:
    """Columns are matched by name: all that the model was fitted to must be there, and no others. The words are those of
    scikit-learn, which also insists on their order."""
    names = column_names(X)
    text = ""
    for title, missing in (
        ("Feature names unseen at fit time:\n", [name for name in names if name not in set(seen)]),
        ("Feature names seen at fit time, yet now missing:\n", [name for name in seen if name not in set(names)]),
    ):
        if missing:
            listed = "".join(f"- {name}\n" for name in missing[:5])
            text += title + listed + ("- ...\n" if len(missing) > 5 else "")
    if text:
        raise ValueError(f"The feature names should match those that were passed during fit.\n{text}")


def column_of(feature: str, names: set[str]) -> str:
    """The column of a feature: a number has the name of its column, a category ``column=value``."""
    column = feature
    while column not in names and "=" in column:
        column = column.rpartition("=")[0]
    return column


def category_columns(features, names: list[str]) -> set[str]:
    """The columns whose features are categories."""
    known = set(names)
    return {column_of(feature, known) for feature in features if feature not in known} & known


def features_by_column(features, names: list[str]) -> list[str]:
    """All features of a table in the order of its columns, those of one column by name."""
    known, places = set(names), {name: place for place, name in enumerate(names)}
    every = set(features) | (known - category_columns(features, names))
    return sorted(every, key=lambda feature: (places.get(column_of(feature, known), len(names)), feature))
