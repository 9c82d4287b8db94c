"""tamis.spark with Spark in this process: the same model for any partitions, in every form of the features."""

import functools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import BUCKETS, PLANTED, Data, names_of, oracle, program

import tamis
from tamis import _spark_engine, distributed

spark_ml = pytest.importorskip("pyspark.ml")
from pyspark.ml.linalg import Vectors  # noqa: E402

from tamis.spark import (  # noqa: E402
    TamisClassificationModel,
    TamisClassifier,
    TamisMoments,
    TamisMomentsClassificationModel,
    TamisMomentsModel,
    TamisRegressor,
)

pytestmark = pytest.mark.timeout(300)
PACKAGE = Path(tamis.__file__).parent


def frame(spark, data, form="vector", partitions=2, order=None):
    """The planted data as a frame."""
    rows = range(len(data.label)) if order is None else order
    cell = {
        "vector": lambda i, v: Vectors.sparse(data.columns, i, v),
        "array": lambda i, v: data.dense_row(i, v),
        "pairs": lambda i, v: (i, v),
        "map": lambda i, v: {f"w{one}": value for one, value in zip(i, v, strict=True)},
    }[form]
    kind = {"pairs": "struct<indices: array<int>, values: array<double>>", "map": "map<string,double>", "array": "array<double>"}
    made = [(float(data.label[at]), float(data.target[at]), cell(data.indices[at], data.values[at])) for at in rows]
    if form == "vector":
        from pyspark.ml.linalg import VectorUDT
        from pyspark.sql.types import DoubleType, StructField, StructType

        fields = [("label", DoubleType()), ("target", DoubleType()), ("features", VectorUDT())]
        schema = StructType([StructField(*field) for field in fields])
    else:
        schema = f"label double, target double, features {kind[form]}"
    return spark.createDataFrame(made, schema).repartition(partitions)


def dense_row(indices, values, width=60):
    row = np.zeros(width)
    row[indices] = values
    return row.tolist()


Data.dense_row = staticmethod(dense_row)


@pytest.fixture
def classifier():
    return TamisClassifier(nFeatures=3, nBuckets=BUCKETS, verbose=False)


@pytest.fixture(scope="module")
def numbered(data):
    return oracle(data.batch())


@pytest.fixture(scope="module")
def named(data):
    return oracle(data.batch(named=True))


def test_partitions_and_order_leave_no_trace(spark, data, classifier, numbered):
    assert names_of(numbered) == sorted(str(one + 1) for one in PLANTED)
    order = np.random.default_rng(5).permutation(len(data.label))
    for partitions, rows in ((1, None), (2, order), (7, None)):
        assert classifier.fit(frame(spark, data, partitions=partitions, order=rows)).text == numbered


@pytest.mark.parametrize("form", ["array", "pairs", "map"])
def test_every_form_of_features_gives_the_same_model(spark, data, classifier, numbered, named, form):
    model = classifier.fit(frame(spark, data, form))
    assert model.text == (named if form == "map" else numbered)


def test_columns_are_features_with_their_names(spark, data, classifier, named):
    X = data.dense()
    rows = [(float(label), *map(float, row)) for label, row in zip(data.label, X, strict=True)]
    names = [f"w{at}" for at in range(data.columns)]
    df = spark.createDataFrame(rows, ["label", *names])
    model = classifier.copy().setFeaturesCols(names).fit(df)
    assert model.text == named
    predicted = model.transform(df).select("prediction").toArrow().column(0).to_numpy()
    assert np.mean(predicted == data.label) > 0.85
    exact = df.selectExpr(f"{model.sql_expression()} AS p").toArrow().column(0).to_numpy()
    assert np.array_equal(exact, predicted)


def test_dense_and_sparse_vectors_are_the_same_rows(spark, data, classifier, numbered):
    made = [
        (float(label), Vectors.dense(dense_row(i, v)) if at % 2 else Vectors.sparse(data.columns, i, v))
        for at, (label, i, v) in enumerate(zip(data.label, data.indices, data.values, strict=True))
    ]
    assert classifier.fit(spark.createDataFrame(made, ["label", "features"])).text == numbered


def flaky(monkeypatch, spoil):
    """Functions on workers that call ``spoil(name)`` before they run."""
    original = _spark_engine.on_worker

    def on_worker(module, name, *arguments, **more):
        run = original(module, name, *arguments, **more)

        def spoiled(batches):
            spoil(name)
            yield from run(batches)

        spoiled.__annotations__ = run.__annotations__
        return spoiled

    monkeypatch.setattr(_spark_engine, "on_worker", on_worker)


def test_tasks_that_fail_once_leave_no_trace(spark, data, classifier, numbered, monkeypatch, tmp_path):
    marks = str(tmp_path)

    def spoil(name):
        import os

        from pyspark import TaskContext

        context = TaskContext.get()
        if context.partitionId() == 0 and context.attemptNumber() == 0:
            open(os.path.join(marks, name), "w").close()
            raise OSError("planted failure")

    flaky(monkeypatch, spoil)
    assert classifier.fit(frame(spark, data, partitions=3)).text == numbered
    assert {path.name for path in tmp_path.iterdir()} == {"rows", "stage", "add", "collect"}


def test_more_buckets_than_slots_and_empty_partitions(spark, data):
    df = frame(spark, data, partitions=40)
    model = TamisClassifier(nFeatures=3, nBuckets=64, verbose=False).fit(df.filter("true"))
    assert model.text == oracle(data.batch(), buckets=64)


def test_what_cannot_be_learned_is_named(spark, data, classifier):
    df = frame(spark, data)
    with pytest.raises(tamis.Error, match="(?i)no rows|empty"):
        classifier.fit(df.filter("false"))
    with pytest.raises(tamis.Error, match="(?i)class"):
        classifier.fit(df.filter("label = 1.0"))
    with pytest.raises(tamis.DataError, match="no column 'other' in the frame; there are 'label'"):
        classifier.copy().setLabelCol("other").fit(df)
    with pytest.raises(tamis.DataError, match="has the type string; features are a vector"):
        classifier.copy().setFeaturesCol("text").fit(df.selectExpr("label", "'x' AS text"))
    with pytest.raises(tamis.DataError, match="features is null"):
        classifier.fit(df.selectExpr("label", "IF(rand(1) < 0.01, NULL, features) AS features"))
    with pytest.raises(tamis.Error, match="(?i)null|label"):
        classifier.fit(df.selectExpr("IF(target > 3, NULL, label) AS label", "features"))


def test_labels_may_be_text_and_new_names_are_zero(spark, data):
    df = frame(spark, data, "map").selectExpr("IF(label = 1.0, 'yes', 'no') AS label", "features")
    model = TamisClassifier(nFeatures=3, nBuckets=BUCKETS, verbose=False).fit(df)
    assert model.classes == ["no", "yes"] and model.numClasses == 2
    new = spark.createDataFrame([({"never seen": 5.0},), ({},)], "features map<string,double>")
    found = model.transform(new).select("prediction", "probability").collect()
    assert found[0] == found[1] and found[0][0] in ("no", "yes")
    margin = new.selectExpr(model.sql_expression("margin", "map")).collect()
    assert margin[0][0] == pytest.approx(model.estimator.intercept_[0], rel=1e-12)


@pytest.mark.parametrize("form", ["array", "pairs", "map"])
def test_sql_scores_as_python_does(spark, data, form):
    df = frame(spark, data, form)
    model = TamisClassifier(nFeatures=3, nBuckets=BUCKETS, verbose=False).fit(df)
    expressions = [f"{model.sql_expression(of, form)} AS {of}_sql" for of in ("prediction", "probability", "margin")]
    found = model.transform(df).selectExpr("prediction", "rawPrediction", "probability", *expressions).collect()
    assert len(found) == len(data.label)
    for row in found:
        assert row["prediction_sql"] == row["prediction"]
        assert row["probability_sql"] == pytest.approx(row["probability"][1], rel=1e-12)
        assert row["margin_sql"] == pytest.approx(row["rawPrediction"][1], rel=1e-12, abs=1e-12)


def test_sql_of_vectors_is_refused_in_words(spark, data, classifier):
    model = classifier.fit(frame(spark, data))
    with pytest.raises(tamis.ParamError, match="make an array by pyspark.ml.functions.vector_to_array"):
        model.sql_expression(form="vector")
    with pytest.raises(tamis.ParamError, match="form must be one of columns, map, array, pairs, got 'rows'"):
        model.sql_expression(form="rows")
    with pytest.raises(tamis.ParamError, match="of must be one of"):
        model.sql_expression("label")


def program_margins(model, data, folder):
    """What ``tamis predict`` says of the rows, with a model that Spark wrote."""
    rows = zip(data.label, data.indices, data.values, strict=True)
    entries = [(label, zip(indices, values, strict=True)) for label, indices, values in rows]
    lines = [f"{label} {' '.join(f'{one + 1}:{value!r}' for one, value in row)}\n" for label, row in entries]
    (folder / "rows.svm").write_text("".join(lines))
    return [float(line) for line in program(folder, "predict", model, "rows.svm", "--output", "margin").split()]


def test_saved_models_are_the_program_s_own(spark, data, classifier, numbered, tmp_path, capsys):
    df = frame(spark, data)
    model = classifier.copy().setVerbose(True).setPredictionCol("guess").fit(df)
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) >= 2 and all(model.uid.split("_")[0] for line in told)
    model.save(str(tmp_path / "saved"))
    with pytest.raises(Exception, match="(?i)exists"):
        model.save(str(tmp_path / "saved"))
    model.write().overwrite().save(str(tmp_path / "saved"))
    (file,) = (tmp_path / "saved/model").glob("part-00000*")
    assert file.read_text() == numbered.rstrip("\n") + "\n"
    own = tamis.load(file)
    again = TamisClassificationModel.load(str(tmp_path / "saved"))
    assert again.text == numbered and again.getPredictionCol() == "guess" and again.uid == model.uid
    margins = own._fitted().margins(tamis._input.Table(data.dense()))[:, 0]
    assert program_margins(file, data, tmp_path) == pytest.approx(margins.tolist(), rel=1e-12)
    scored = again.transform(df.select("features", "label", "target")).select("target", "rawPrediction").collect()
    by_target = {row["target"]: row["rawPrediction"][1] for row in scored}
    assert [by_target[target] for target in data.target] == pytest.approx(margins.tolist(), rel=1e-12)
    estimator = tmp_path / "estimator"
    classifier.save(str(estimator))
    assert TamisClassifier.load(str(estimator)).getOrDefault("nFeatures") == 3


def test_pipelines_and_cross_validation(spark, data, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import BinaryClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    names = [f"w{at}" for at in (*PLANTED, 5, 6)]
    X = data.dense()[:, [*PLANTED, 5, 6]]
    df = spark.createDataFrame([(float(y), *map(float, row)) for y, row in zip(data.label, X, strict=True)], ["label", *names])
    tamis_stage = TamisClassifier(nBuckets=2, verbose=False)
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=names, outputCol="features"), tamis_stage])
    grid = ParamGridBuilder().addGrid(tamis_stage.nFeatures, [1, 3]).build()
    evaluator = BinaryClassificationEvaluator()
    search = CrossValidator(estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=1)
    found = search.fit(df)
    assert found.avgMetrics[1] > found.avgMetrics[0]
    best = found.bestModel
    assert names_of(best.stages[1].text) == ["1", "2", "3"]
    best.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.stages[1].text == best.stages[1].text
    # The evaluator adds the ranks of partitions in the order in which they come.
    areas = [evaluator.evaluate(model.transform(df)) for model in (again, best)]
    assert areas[0] == pytest.approx(areas[1], rel=1e-12) and areas[0] > 0.95


def test_regression(spark, data):
    model = TamisRegressor(labelCol="target", nFeatures=3, nBuckets=BUCKETS, verbose=False).fit(frame(spark, data))
    assert model.text == oracle(data.batch(label=data.target), "regression", loss=None)
    from pyspark.ml.evaluation import RegressionEvaluator

    scored = model.transform(frame(spark, data))
    assert RegressionEvaluator(labelCol="target", metricName="r2").evaluate(scored) > 0.9


@pytest.mark.parametrize("form", ["vector", "map"])
def test_moments_of_partitions_are_those_of_the_rows(spark, data, form, tmp_path):
    X = data.dense()
    expected = tamis.Moments().observe(X, data.target)
    solvers = {"ols": {}, "ofsa": {"n_features_to_select": 3}, "lasso": {"n_features_to_select": 4}, "mcp": {}}
    for partitions in (1, 2, 16):
        df = frame(spark, data, form, partitions)
        model = TamisMoments(labelCol="target", nFeatures=3, blockRows=16).fit(df)
        assert model.moments.rows == len(data.target)
        for solver, given in solvers.items():
            truth = expected.solve(solver, **given).features_
            truth = {one["name"].replace("x", "w"): one["weight"] for one in truth}
            mine = {one["name"]: one["weight"] for one in model.resolve(solver, **given).features}
            if form == "vector":
                mine = {f"w{int(name) - 1}": weight for name, weight in mine.items()}
            assert mine.keys() == truth.keys()
            assert all(mine[name] == pytest.approx(truth[name], rel=1e-9, abs=1e-12) for name in truth)
    model.save(str(tmp_path / "moments"))
    again = TamisMomentsModel.load(str(tmp_path / "moments"))
    assert again.moments.rows == model.moments.rows and again.text == model.text
    with pytest.raises(tamis.DataError, match="no rows"):
        TamisMoments(labelCol="target").fit(frame(spark, data, form).filter("false"))


def test_moments_of_classes_have_folds_that_do_not_depend_on_partitions(spark, data, tmp_path):
    made = TamisMoments(task="classes", solver="lasso", criterion="cv", folds=5, blockRows=16)
    order = np.random.default_rng(1).permutation(len(data.label))
    frames = [frame(spark, data), frame(spark, data, partitions=7), frame(spark, data, partitions=3, order=order.tolist())]
    models = [made.fit(df) for df in frames]
    weights = [{one["name"]: one["weight"] for one in model.features} for model in models]
    assert {str(one + 1) for one in PLANTED} <= weights[0].keys()
    for other in weights[1:]:
        assert other == pytest.approx(weights[0], rel=1e-9)
    assert models[0].classes == [0.0, 1.0] and models[0].moments.rows == len(data.label)
    right = models[0].transform(frames[0]).selectExpr("sum(cast(prediction = label as int))").collect()[0][0]
    assert right > 0.85 * len(data.label)
    models[0].save(str(tmp_path / "classes"))
    again = TamisMomentsClassificationModel.load(str(tmp_path / "classes"))
    assert again.text == models[0].text and again.resolve("ols").classes == [0.0, 1.0]
    with pytest.raises(tamis.ParamError, match="task must be regression or classes"):
        TamisMoments(task="labels").fit(frames[0])


def test_narrowed_columns_are_those_of_the_local_engine(spark, data, classifier, monkeypatch, capsys):
    monkeypatch.setattr(distributed, "fit", functools.partial(distributed.fit, columns=20))
    text = classifier.copy().setVerbose(True).fit(frame(spark, data, partitions=5)).text
    assert "narrow: 60 of 60 columns" in capsys.readouterr().err
    assert text == oracle(data.batch())


def test_versions_that_differ_are_told_apart(spark, data, classifier, monkeypatch):
    class Other:
        VERSION = "0.0.1"

        def __getattr__(self, name):
            return getattr(tamis._core, name)

    monkeypatch.setattr(_spark_engine, "_core", Other())
    wanted = f"the driver has tamis 0.0.1 and a worker has tamis {re.escape(tamis.__version__)}: install the same version"
    with pytest.raises(tamis.ParamError, match=wanted):
        classifier.fit(frame(spark, data))


def test_a_worker_without_the_package_says_so(tmp_path):
    """The function is sent by value: it can be read where the package is not installed."""
    from pyspark import cloudpickle

    function = tmp_path / "function"
    function.write_bytes(cloudpickle.dumps(_spark_engine.on_worker("_worker", "rows", "form")))
    script = """
import pickle, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tamis":
            raise ImportError("No module named 'tamis'")
sys.meta_path.insert(0, Blocked())
try:
    list(pickle.load(open(sys.argv[1], "rb"))([]))
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, function], capture_output=True, text=True, check=True, timeout=60)
    assert f"a worker cannot import tamis (No module named 'tamis'): install tamis {tamis.__version__}" in done.stdout


def test_no_call_that_connect_lacks():
    """No RDD, context, broadcast or barrier: Spark Connect has none of them."""
    files = [PACKAGE / "spark.py", *PACKAGE.glob("_spark*.py")]
    assert len(files) == 4
    for file in files:
        found = re.findall(r"\.rdd\b|sparkContext|SparkContext|broadcast\(|barrier|_jvm|_jdf", file.read_text())
        assert not found, f"{file.name}: {found}"


def test_the_model_is_an_estimator(spark, data, classifier):
    model = classifier.fit(frame(spark, data))
    assert {one["name"] for one in model.features} == {str(one + 1) for one in PLANTED}
    with pytest.raises(AttributeError, match="setNothing"):
        model.setNothing(1)
