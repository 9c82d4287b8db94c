"""Moments in parts: blocks that are merged in any place, and sums that were computed elsewhere."""

import numpy as np
import pytest
from conftest import numbers, svmlight, words

import tamis
from tamis import Moments, MomentsRegressor

SOLVERS = {
    "ols": {},
    "ridge": {"alpha": 3.0},
    "ols-th": {"n_features_to_select": 3},
    "ofsa": {"n_features_to_select": 3},
    "lasso": {"n_features_to_select": 4},
    "elastic-net": {"n_features_to_select": 4},
    "mcp": {"n_features_to_select": 3},
    "scad": {"n_features_to_select": 3},
}


def in_parts(X, y, parts, height=5, weights=None):
    """The moments of rows in parts: blocks of each part with the columns of all, merged block by block."""
    cuts = np.array_split(np.arange(len(y)), parts)
    own = [Moments().observe(X[cut], y[cut], None if weights is None else weights[cut]) for cut in cuts]
    columns = Moments.join_columns(part.columns for part in own)
    blocks = zip(*(part.to_blocks(height, columns) for part in own), strict=True)
    return Moments.from_blocks([Moments.merge_blocks(same) for same in blocks])


def gram_of(X, y, weights=None, **more):
    w = np.ones(len(y)) if weights is None else weights
    given = {} if weights is None else {"weight": w.sum(), "squared_weight": (w**2).sum()}
    sums = {"rows": len(y), "sums": w @ X, "target_sums": w @ y}
    return Moments.from_gram((X.T * w) @ X, X.T @ (w * y), w @ y**2, **sums, **given, **more)


def coefficients(model):
    return {one["name"]: one["weight"] for one in model.features_}


def same(one, other):
    one, other = coefficients(one), coefficients(other)
    assert one.keys() == other.keys()
    for name in one:
        assert one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_solver_finds_the_same_in_any_number_of_parts(solver):
    X, y = numbers()
    X = X + np.arange(X.shape[1])  # means that matter
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    for given in (None, weights):
        # A model of a file names its columns by their numbers; so does that of blocks.
        whole = Moments.from_blocks(Moments().observe(X, y, given).to_blocks())
        expected = whole.solve(solver, **SOLVERS[solver])
        assert coefficients(expected)
        for parts in (1, 2, 16):
            same(in_parts(X, y, parts, weights=given).solve(solver, **SOLVERS[solver]), expected)
    assert set(SOLVERS) == {name for name, _ in tamis._core.solvers()}


def test_blocks_of_another_height_are_the_same_bits():
    X, y = numbers()
    first = in_parts(X, y, 3, height=1)
    for height in (2, 7, 1000):
        other = in_parts(X, y, 3, height=height)
        assert np.array_equal(other.covariance, first.covariance) and np.array_equal(other.means, first.means)


def test_parts_need_not_have_the_same_columns():
    X, y = words(rows=300, columns=40)
    cuts = [slice(0, 20), slice(20, 50), slice(50, 300)]
    own = [Moments("classes").observe(X[cut], y[cut]) for cut in cuts]
    assert len({part.columns for part in own}) > 1
    columns = Moments.join_columns(part.columns for part in own)
    merged = Moments.from_blocks(
        [Moments.merge_blocks(same) for same in zip(*(part.to_blocks(8, columns) for part in own), strict=True)]
    )
    whole = Moments("classes").observe(X, y)
    order = [merged.info["features"].index(name) for name in whole.info["features"]]
    np.testing.assert_allclose(merged.covariance[np.ix_(order, order)], whole.covariance, rtol=1e-9, atol=1e-15)
    assert merged.rows == 300 and merged.classes.tolist() == whole.classes.tolist()


def test_what_does_not_fit_is_refused():
    X, y = numbers()
    one, other = Moments().observe(X[:100], y[:100]), Moments().observe(X[100:, :5], y[100:])
    with pytest.raises(tamis.DataError, match="other columns"):
        Moments.merge_blocks([one.to_blocks()[0], other.to_blocks()[0]])
    with pytest.raises(tamis.DataError, match="is a column of one and not of the other"):
        one.to_blocks(columns=other.columns)
    with pytest.raises(tamis.DataError, match="block 1 of .* is missing"):
        Moments.from_blocks(one.to_blocks(4)[:1])
    with pytest.raises(tamis.ModelError, match="checksum|not a tamis-moments-block"):
        Moments.from_blocks([b"x" + one.to_blocks()[0][1:]])
    with pytest.raises(tamis.ParamError, match="at least 1"):
        one.to_blocks(0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sums_from_elsewhere_are_moments(solver):
    X, y = numbers()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    for given in (None, weights):
        expected = MomentsRegressor(solver, **SOLVERS[solver]).fit(X, y, given)
        found = gram_of(X, y, given).solve(solver, **SOLVERS[solver])
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-7, atol=1e-10)
        assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-7, abs=1e-10)


def test_centered_products_keep_their_digits():
    X, y = numbers()
    X = X + 1e6
    means = X.mean(axis=0)
    Z, t = X - means, y - y.mean()
    sums = {"rows": len(y), "sums": X.sum(axis=0), "target_sums": y.sum()}
    found = Moments.from_gram(Z.T @ Z, Z.T @ t, t @ t, **sums, centered=True).solve("ols")
    truth = MomentsRegressor("ols").fit(Z, t)
    np.testing.assert_allclose(found.coef_, truth.coef_, rtol=1e-9)
    assert found.intercept_ == pytest.approx(y.mean() - means @ truth.coef_, rel=1e-9)
    plain = gram_of(X, y).solve("ols")
    assert not np.allclose(plain.coef_, truth.coef_, rtol=1e-3)


def test_classes_are_sums_too():
    X, y = words(rows=400, columns=30, classes=3)
    X = X.toarray()
    classes = np.unique(y)
    hot = (y[:, np.newaxis] == classes).astype(float)
    made = Moments.from_gram(X.T @ X, X.T @ hot, rows=400, sums=X.sum(0), target_sums=hot.sum(0), classes=classes)
    found, expected = made.solve("ridge", alpha=1.0), Moments("classes").observe(X, y).solve("ridge", alpha=1.0)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-7, atol=1e-10)
    assert found.predict(X).tolist() == expected.predict(X).tolist()


def test_sites_with_names_can_be_added():
    X, y = numbers()
    names = [f"gene {at}" for at in range(X.shape[1])]
    parts = [gram_of(X[cut], y[cut], names=names) for cut in (slice(0, 200), slice(200, None))]
    both = parts[0] + parts[1]
    assert both.rows == len(y)
    expected = MomentsRegressor("ols").fit(X, y)
    found = coefficients(both.solve("ols"))
    for name, weight in zip(names, expected.coef_, strict=True):
        assert found[name] == pytest.approx(weight, rel=1e-7, abs=1e-10)


def test_sums_that_no_rows_have_are_refused():
    X, y = numbers()
    sums = {"rows": len(y), "sums": X.sum(0), "target_sums": y.sum()}
    gram, products, squares = X.T @ X, X.T @ y, y @ y

    def refused(match, error=tamis.DataError, gram=gram, products=products, squares=squares, **more):
        with pytest.raises(error, match=match):
            Moments.from_gram(gram, products, squares, **{**sums, **more})

    refused("must be square", gram=gram[:, 1:])
    refused("target_products must have shape", products=products[1:])
    refused("sums must have shape", sums=sums["sums"][1:])
    refused("not finite", gram=np.full_like(gram, np.nan))
    refused("rows must be a whole number", tamis.ParamError, rows=0)
    refused("variance of the target would be negative", rows=3)
    refused("given together", tamis.ParamError, weight=300.0)
    refused("no 600 weights have the sum", weight=1e9, squared_weight=1.0)
    refused("names must have one name", names=["a"])
    refused("occurs twice", names=["a"] * gram.shape[0])
    refused("target_squares is required", tamis.ParamError, squares=None)
    skewed = gram.copy()
    skewed[0, 1] += 1.0
    refused("not symmetric: the products of '1' and '2'|not symmetric: the products of '2' and '1'", gram=skewed)
    wild = gram.copy()
    wild[0, 1] = wild[1, 0] = 3 * np.sqrt(gram[0, 0] * gram[1, 1])
    refused("not positive semidefinite", gram=wild)
    refused("not positive semidefinite", products=products * 100)


def test_merged_files_keep_their_names(tmp_path):
    X, y = numbers()
    paths = []
    for at, cut in enumerate((slice(0, 300), slice(300, None))):
        (tmp_path / str(at)).mkdir()
        paths.append(svmlight(tmp_path / str(at), X[cut], y[cut]))
    both = sum(Moments.of_files(path, task="regression") for path in paths)
    assert {one["name"] for one in both.solve("mcp", n_features_to_select=3).features_} == {"2", "5", "8"}
