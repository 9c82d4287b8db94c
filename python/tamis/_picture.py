"""HTML representation of a fitted model: features, weights and selection frequencies."""

from html import escape

MOST = 20
STYLE = "font: 12px sans-serif; border-collapse: collapse; margin-top: 6px"


def of(estimator) -> str:
    """A table with a bar for each feature: length is the effect (weight times scale), opacity the selection frequency."""
    features = estimator.features_
    largest = max((abs(one["weight"] * one["scale"]) for one in features), default=0.0) or 1.0
    rows = [_row(one, largest) for one in features[:MOST]]
    more = (
        f"<caption style='caption-side: bottom'>and {len(features) - MOST} more</caption>"
        if len(features) > MOST
        else ""
    )
    count = len({one["name"] for one in features})
    seen = estimator.seen_
    title = f"{count} of {seen['features']} features, {seen['rows']:,} rows"
    head = f"<tr><th colspan='3' style='text-align: left'>{title}</th></tr>"
    return f"<table style='{STYLE}'>{more}{head}{''.join(rows)}</table>"


def _row(told: dict, largest: float) -> str:
    effect = told["weight"] * told["scale"] / largest
    frequency = told.get("frequency")
    colour = "#b2442e" if effect < 0 else "#2e6db2"
    left, width = (80 * (1 + min(effect, 0)), 80 * abs(effect))
    bar = (
        f"<svg width='160' height='12' role='img'><line x1='80' x2='80' y2='12' stroke='#888'/>"
        f"<rect x='{left:.1f}' y='1' width='{width:.1f}' height='10' fill='{colour}'"
        f" fill-opacity='{0.25 + 0.75 * (1 if frequency is None else frequency):.2f}'/></svg>"
    )
    sure = "" if frequency is None else f" ({frequency:.0%})"
    of_class = f" <i>{escape(str(told['class']))}</i>" if "class" in told else ""
    name = f"<td style='text-align: left'>{escape(str(told['name']))}{of_class}</td>"
    return f"<tr>{name}<td>{bar}</td><td style='text-align: right'>{told['weight']:.4g}{sure}</td></tr>"
