"""A model as an expression of Spark SQL, made of the query that the library exports."""

import re

from .errors import ParamError

FORMS = ("columns", "map", "array", "pairs")
OUTPUTS = ("prediction", "margin", "probability")


def _cell(form: str, column: str, name: str) -> str:
    """The value of a feature; what a row does not have is zero."""
    quoted = "`" + column.replace("`", "``") + "`"
    if form == "columns":
        cell = "`" + name.replace("`", "``") + "`"
    elif form == "map":
        text = name.replace("\\", "\\\\").replace("'", "\\'")
        cell = f"try_element_at({quoted}, '{text}')"
    else:
        place = int(name) - 1
        if form == "pairs":
            # The first position of the index; position 0 says that there is none.
            position = f"array_position({quoted}.indices, {place})"
            return f"CASE WHEN {position} > 0 THEN CAST({quoted}.values[CAST({position} AS INT) - 1] AS DOUBLE) ELSE 0e0 END"
        cell = f"get({quoted}, {place})"
    return f"COALESCE(CAST({cell} AS DOUBLE), 0e0)"


def expression(estimator, of: str, form: str, column: str) -> str:
    """The expression of a prediction."""
    if form == "vector":
        raise ParamError("Spark SQL has no function of vectors: make an array by pyspark.ml.functions.vector_to_array, and use array")
    if form not in FORMS:
        raise ParamError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    if of not in OUTPUTS:
        raise ParamError(f"of must be one of {', '.join(OUTPUTS)}, got {of!r}")
    names = sorted({name for features, *_ in estimator._fitted().outputs for name in features})
    if form not in ("columns", "map") and not all(name.isdecimal() for name in names):
        raise ParamError(f"the features have names, so that form={form!r} does not know their places; use columns or map")
    marks = {name: f"tamis_feature_{at}" for at, name in enumerate(names)}
    core = estimator._fitted()
    query = core.export(
        "sql", marks, dialect="spark", long=False, table="data", id_column="id", points=(20.0, 600.0, 50.0), html=None
    ).decode()
    for name, mark in marks.items():
        query = re.sub(rf"t\.`{mark}`", lambda _, name=name: _cell(form, column, name), query)
    inner, outer = query.split("\n  FROM ", 1)
    margins = dict((name, text) for text, name in re.findall(r"\n    (.*?)\n    AS `((?:[^`]|``)*)`", inner, flags=re.DOTALL))
    answers = dict((name, text) for text, name in re.findall(r"\n  (\S.*?) AS `((?:[^`]|``)*)`", outer, flags=re.DOTALL))
    for name, text in margins.items():
        answers = {key: value.replace(f"m.`{name}`", f"({text})") for key, value in answers.items()}
    return _chosen(of, margins, answers)


def _chosen(of: str, margins: dict, answers: dict) -> str:
    if of == "margin":
        if len(margins) > 1:
            raise ParamError("a model of several classes has a margin for each of them: use of='prediction'")
        return next(iter(margins.values()))
    shares = [text for name, text in answers.items() if "probability_" in name]
    if of == "probability":
        if len(shares) != 2:
            raise ParamError("a probability needs two classes and a loss that gives it")
        return shares[1]
    return next(text for name, text in answers.items() if name.removeprefix("tamis_") in ("label", "prediction"))
