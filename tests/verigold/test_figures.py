import itertools
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verigold.report.drawing import Drawing, fit, spread, svg, text_width, ticks, wrap
from verigold.report.figures import Bar, FunnelStage, bars, funnel, histogram
from verigold.report.lines import DENSE, MOST_POINTS, Level, Point, Series, curves, running_mean, thinned

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script>"\x00\x1b\ud800'


def parse(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg(drawing, f"title {HOSTILE}", f"description {HOSTILE}")))


def texts(element: ElementTree.Element) -> list[str]:
    return [item.text or "" for item in element.iter(f"{NAMESPACE}text")]


def numbers(element: ElementTree.Element) -> list[float]:
    names = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height")
    return [float(item.attrib[name]) for item in element.iter() for name in names if name in item.attrib]


@pytest.mark.parametrize("width", [340, 920])
def test_figures_are_well_formed_and_inert(width: int) -> None:
    drawings = [
        bars([Bar(label=HOSTILE, value=0.2, low=0.1, high=0.3, note=HOSTILE), Bar(label="none", value=None)], width),
        funnel([FunnelStage(label=HOSTILE, rows_in=10, dropped=3, quarantined=1, reasons=[HOSTILE])], width),
        histogram([(HOSTILE, 3), ("b", 0)], width),
        curves([Series(label=HOSTILE, points=[Point(x=0, y=1), Point(x=1, y=2)])], width, x_title=HOSTILE),
    ]
    for drawing in drawings:
        root = parse(drawing)
        assert root.attrib["role"] == "img"
        assert root.find(f"{NAMESPACE}title") is not None
        assert root.find(f"{NAMESPACE}desc") is not None
        assert not list(root.iter(f"{NAMESPACE}script"))
        assert all(math.isfinite(value) for value in numbers(root))


def test_bars_are_as_long_as_their_values() -> None:
    root = parse(bars([Bar(label="a", value=0.1), Bar(label="b", value=0.4)], 900))
    short, long = (float(item.attrib["width"]) for item in root.iter(f"{NAMESPACE}rect"))
    assert long == pytest.approx(4 * short, rel=0.01)


def test_funnel_parts_are_as_wide_as_their_rows() -> None:
    root = parse(funnel([FunnelStage(label="dedupe", rows_in=1000, dropped=300, quarantined=100)], 900))
    widths = [float(item.attrib["width"]) for item in root.iter(f"{NAMESPACE}rect")]
    assert [w / sum(widths) for w in widths] == pytest.approx([0.6, 0.3, 0.1], abs=0.005)
    assert "600" in texts(root)


def test_funnel_shows_a_single_lost_row() -> None:
    root = parse(funnel([FunnelStage(label="clean", rows_in=1_000_000, dropped=1, quarantined=0)], 900))
    assert min(float(item.attrib["width"]) for item in root.iter(f"{NAMESPACE}rect")) >= 2


@pytest.mark.parametrize("font", [13.0, 21.0])
def test_curves_label_their_ends_apart(font: float) -> None:
    series = [
        Series(label=f"run {i}", points=[Point(x=0, y=0.2), Point(x=9, y=0.5 + i / 1000)], colour=i) for i in range(4)
    ]
    root = parse(curves(series, 900, x_title="tokens", font=font, levels=[Level(label="base", y=0.5)]))
    places = sorted(
        float(item.attrib["y"])
        for item in root.iter(f"{NAMESPACE}text")
        if (item.text or "").startswith(("run", "base"))
    )
    assert len(places) == 5
    assert all(later - earlier >= font for earlier, later in itertools.pairwise(places))


def test_curves_of_nothing_and_of_one_point() -> None:
    parse(curves([], 400, x_title="tokens"))
    parse(curves([Series(label="", points=[Point(x=5, y=0.0)])], 400, x_title="tokens"))


def test_many_points_get_a_running_mean() -> None:
    points = [Point(x=i, y=i % 2) for i in range(DENSE)]
    root = parse(curves([Series(label="run", points=points)], 900, x_title="tokens"))
    assert len(list(root.iter(f"{NAMESPACE}path"))) == 2
    assert [point.y for point in running_mean(points, 2)][1:4] == [0.5, 0.5, 0.5]


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 8))
def test_ticks_cover_the_range(low: float, span: float, about: int) -> None:
    marks = ticks(low, low + span, about)
    assert marks[0] <= low + span * 1e-6
    assert marks[-1] >= low + span * (1 - 1e-6)
    assert marks == sorted(set(marks))
    assert len(marks) <= about + 3


@given(st.lists(st.floats(0, 100), max_size=6))
def test_spread_keeps_distance_and_order(wanted: list[float]) -> None:
    placed = spread(wanted, 10, 0, 100)
    ordered = sorted(placed)
    assert all(b - a >= 10 - 1e-6 for a, b in itertools.pairwise(ordered))
    assert all(-1e-6 <= p <= 100 + 1e-6 for p in placed)


@given(st.text(max_size=60), st.floats(20, 300))
def test_fitted_text_fits(content: str, width: float) -> None:
    assert text_width(fit(content, width)) <= width + 1e-6


def test_wrap_breaks_between_phrases() -> None:
    assert wrap(["near-duplicate 12", "exact-duplicate 3"], 1000) == ["near-duplicate 12 · exact-duplicate 3"]
    assert wrap(["near-duplicate 12", "exact-duplicate 3"], 160) == ["near-duplicate 12", "exact-duplicate 3"]


def test_long_runs_are_thinned_without_changing_their_mean() -> None:
    points = [Point(x=i, y=(i * 7) % 10) for i in range(5000)]
    few = thinned(Series(label="run", points=points)).points
    assert len(few) <= MOST_POINTS
    assert sum(p.y for p in few) / len(few) == pytest.approx(4.5)
    assert thinned(Series(label="run", points=points, marks=True)).points == points
