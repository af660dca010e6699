"""Infinite sums, products and integrals: values decide first, towers as bounds never reach the worker."""

import pytest

from verifiers import Status, verify_math, workers
from verifiers.answer import series
from verifiers.answer.kinds import Scalar
from verifiers.answer.read import readings

EQUAL = (
    (r"\sum_{n=1}^\infty \frac{1}{n^2+1}", r"\frac{\pi\coth\pi-1}{2}"),
    (r"\sum_{n=1}^{\infty} \frac{x^n}{n}", r"-\ln(1-x)"),
    (r"\prod_{n=2}^\infty \left(1-\frac{1}{n^2}\right)", r"\frac12"),
    (r"\int_0^1 \frac{\ln(1+x)}{x}\,dx", r"\frac{\pi^2}{12}"),
    (r"\int_0^x e^{-t^2}\,dt", r"\frac{\sqrt\pi}{2}\operatorname{erf}(x)"),
)


def outcome(left: str, right: str) -> str | None:
    first, second = readings(left)[0], readings(right)[0]
    assert isinstance(first, Scalar)
    assert isinstance(second, Scalar)
    return series.compared(first.node, second.node, {"x": 0.37})


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_values_of_series(left: str, right: str) -> None:
    assert outcome(left, right) == outcome(right, left) == "numeric"
    assert outcome(left, f"{right} + 10^{{-6}}") == "different"


@pytest.mark.parametrize("text", [r"\sum_{n=1}^\infty \frac{1}{n}", r"\sum_{n=2}^\infty \frac{1}{n(\ln n)^2}"])
def test_a_series_that_cannot_be_extrapolated_has_no_value(text: str) -> None:
    assert outcome(text, "2") is None


def test_verdicts_of_series() -> None:
    assert verify_math(r"\boxed{\ln 2}", r"\sum_{n=1}^\infty \frac{(-1)^{n+1}}{n}").status is Status.CORRECT
    assert verify_math(r"\boxed{\ln 3}", r"\sum_{n=1}^\infty \frac{(-1)^{n+1}}{n}").reason == "different"


@pytest.mark.parametrize(
    "text",
    [
        r"\int_0^{9^{9^9}} x\,dx", r"\int_0^{10^{10^{10^{10}}}} e^x\,dx", r"\int_0^1 x^{9^{9^{9^9}}}\,dx",
        r"\int_1^{((9!)!)!} \frac{1}{x}\,dx", r"\lim_{n\to\infty} n^{9^{9^9}}",
        r"\sum_{k=1}^{\infty} \frac{1}{k^{9^{9^9}}}",
    ],
)  # fmt: skip
def test_towers_never_reach_the_worker(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("the worker was asked")

    monkeypatch.setattr(workers, "ask", asked)
    verdict = verify_math(rf"\boxed{{{text}}}", "4")
    assert (verdict.status, verdict.reason) == (Status.INCORRECT, "response-too-complex")
