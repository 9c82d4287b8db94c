"""Models in other libraries: frames, plots, MLflow, exports."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import tamis
from conftest import numbers, words


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(1)
    rows = 1500
    X = pd.DataFrame({"age": random.normal(50, 10, rows), "select": random.normal(size=rows)})
    X['town "x"'] = random.choice(["Rome", "it's", "名古屋"], rows)
    score = (X["age"] - 50) / 5 + 2 * (X['town "x"'] == "it's") - 1
    return X, np.where(score + random.logistic(size=rows) > 0, "yes", "no")


def test_features_as_a_frame(table):
    model = tamis.StabilizedClassifier().fit(*table)
    frame = model.to_frame()
    assert list(frame["name"]) == [told["name"] for told in model.features_]
    assert {"name", "weight", "scale", "effect", "frequency", "q"} <= set(frame.columns)
    assert np.allclose(frame["effect"], frame["weight"] * frame["scale"])
    X, y = words(classes=3)
    frame = tamis.SparseClassifier("ftrl").fit(X, y).to_frame()
    assert set(frame["class"]) == {0, 1, 2} and len(frame) > 3


def test_a_notebook_shows_the_features(table):
    page = tamis.SparseClassifier("ftrl").fit(*table)._repr_html_()
    assert "<table" in page and "town &quot;x&quot;=it" in page and "<script>alert" not in page


def test_displays_have_the_numbers_of_the_model(table):
    import matplotlib

    matplotlib.use("Agg")
    from tamis.display import SelectionPathDisplay, SizeCurveDisplay, StabilityDisplay

    model = tamis.StabilizedClassifier().fit(*table)
    curve = SizeCurveDisplay.from_estimator(model)
    assert list(curve.sizes) == [point["size"] for point in model.path_]
    assert list(curve.losses) == [point["error"] for point in model.path_]
    assert curve.chosen == np.count_nonzero(model.get_support())
    shares = StabilityDisplay.from_estimator(model, most=2)
    assert len(shares.names) == 2 and shares.frequencies[0] >= shares.frequencies[1] > 0
    assert [bar.get_width() for bar in shares.bars_] == list(shares.frequencies)
    path = SelectionPathDisplay.from_estimator(model, ax=curve.ax_)
    assert "age" in path.effects and np.count_nonzero(path.effects["age"]) == len(path.sizes)
    assert path.ax_ is curve.ax_ and len(path.lines_) == len(path.effects)


def test_mlflow_saves_and_loads(table, tmp_path):
    import mlflow.pyfunc

    from tamis import mlflow as flavour

    X, y = table
    model = tamis.SparseClassifier("ftrl").fit(X, y)
    flavour.save_model(model, tmp_path / "model")
    assert (flavour.load_model(tmp_path / "model").predict_proba(X) == model.predict_proba(X)).all()
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.metadata.flavors["tamis"]["estimator"] == "SparseClassifier"


def test_exports_are_those_of_the_program(table, tmp_path, program):
    X, y = table
    model = tamis.SparseClassifier("ftrl").fit(X, y)
    model.save(tmp_path / "model.json")
    for to in ("sql", "sklearn", "c", "python", "scorecard"):
        assert model.export(to) == program("export", tmp_path / "model.json", "--to", to), to
    model.export("onnx", tmp_path / "python.onnx")
    program("export", tmp_path / "model.json", "--to", "onnx", "-o", tmp_path / "program.onnx")
    assert (tmp_path / "python.onnx").read_bytes() == (tmp_path / "program.onnx").read_bytes()
    model.export("scorecard", tmp_path / "card.html")
    assert "<!DOCTYPE html>" in (tmp_path / "card.html").read_text()


def test_an_exported_pipeline_predicts_the_same(table, tmp_path):
    X, y = table
    model = tamis.SparseClassifier("ftrl").fit(X, y)
    model.export("sklearn", tmp_path / "pipeline.py")
    spec = importlib.util.spec_from_file_location("pipeline", tmp_path / "pipeline.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert np.abs(module.estimator().predict_proba(X) - model.predict_proba(X)).max() < 1e-12


def test_numbered_columns_have_the_names_of_scikit_learn():
    X, y = numbers()
    model = tamis.SparseRegressor("ftrl", n_features_to_select=3).fit(X, y)
    namespace = {"__name__": "exported"}
    exec(model.export("python"), namespace)
    rows = [{f"x{place}": value for place, value in enumerate(row)} for row in X]
    found = [namespace["predict"](row) for row in rows]
    assert np.abs(np.array(found) - model.predict(X)).max() < 1e-11 * np.abs(model.predict(X)).max()


def test_what_cannot_be_exported_is_a_parameter_error(table):
    model = tamis.SparseClassifier("ftrl").fit(*table)
    for arguments in ({"to": "pmml"}, {"to": "sql", "dialect": "oracle"}, {"to": "scorecard", "base_odds": 0}):
        with pytest.raises(tamis.ParamError):
            model.export(**arguments)


def test_grid_search_and_optuna(table):
    X, y = table
    search = GridSearchCV(tamis.SparseClassifier("ftrl"), {"alpha": [0.1, 1000.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}
    optuna = pytest.importorskip("optuna")
    from sklearn.model_selection import cross_val_score

    def objective(trial):
        model = tamis.SparseClassifier("ftrl", alpha=trial.suggest_float("alpha", 0.1, 1000, log=True))
        return cross_val_score(model, X, y, cv=2).mean()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=4)
    assert study.best_value > 0.7
