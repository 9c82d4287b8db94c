"""A table whose numbers are written as people write them gives the model of the same numbers written plainly."""

import json

import numpy as np
import pandas as pd
import pytest

ROWS = 500
#: How a number may be written, whatever separates the fields.
FORMS = {
    "plain": lambda value: f"{value:.2f}",
    "blanks": lambda value: f"  {value:.2f} ",
    "exponent": lambda value: f"{value:.6e}",
    "percent": lambda value: f"{value:.2f} %",
    "unit": lambda value: f"{value:.2f} kg",
    "currency": lambda value: f"-${-value:,.2f}" if value < 0 else f"${value:,.2f}",
    "currency first": lambda value: f"€{value:.2f}",
    "brackets": lambda value: f"({-value:.2f})" if value < 0 else f"{value:.2f}",
    "decimal comma": lambda value: f"{value:.2f}".replace(".", ","),
    "comma and points": lambda value: f"{value:,.2f}".translate(str.maketrans(",.", ".,")),
}
MISSING = ["", "NA", "?", "-", "N/A", "null", "NaN", "None", "--", ".", "unknown"]


def numbers(seed):
    """Columns of different kinds: large and small, of one sign and of both, whole and not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "wide": np.round(rng.normal(0, 4000, ROWS), 2),
            "small": np.round(rng.uniform(-3, 3, ROWS), 2),
            "price": np.round(rng.lognormal(4, 1, ROWS), 2),
            "count": rng.poisson(30, ROWS).astype(float),
        }
    )
    score = frame["wide"] / 4000 - frame["small"] / 2 + np.log(frame["price"]) - 4
    labels = np.where(score + rng.logistic(size=ROWS) > 0, "yes", "no")
    return frame.mask(rng.random(frame.shape) < 0.05), labels


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@pytest.mark.parametrize("form", FORMS)
def test_the_model_is_that_of_plain_numbers(tamis, form, delimiter):
    seed = list(FORMS).index(form)
    clean, labels = numbers(seed)
    marker = MISSING[seed % len(MISSING)]
    written = clean.astype(object).map(lambda value: marker if pd.isna(value) else FORMS[form](value))
    clean.assign(y=labels).to_csv(tamis.directory / "clean.csv", index=False)
    written.assign(y=labels).to_csv(tamis.directory / "written.csv", index=False, sep=delimiter)
    for name in ["clean", "written"]:
        said = json.loads(
            tamis.run("fit", f"{name}.csv", "--method", "ftrl", "--out", f"{name}.json", "--json", "--quiet")
        )
        assert said["n_features"] == 4, said["notes"]
    margins = [
        np.array(tamis.run("predict", f"{name}.json", f"{name}.csv", "--output", "margin").split(), float)
        for name in ["clean", "written"]
    ]
    np.testing.assert_allclose(margins[1], margins[0], rtol=1e-12, atol=1e-12)
