"""Random hostile text for tests and benchmarks: fragments of LaTeX, prose and code, joined, nested, cut and mutated."""

from __future__ import annotations

import random
from collections.abc import Iterator

FRAGMENTS = (
    r"\boxed{", r"\boxed", "}", "{", "$", "$$", r"\(", r"\)", r"\[", r"\]", "<think>", "</think>", "<answer>",
    "</answer>", "#### ", "Answer: ", "The answer is ", "答案是", "Final Answer", "\n", "\n\n", " ", "**", "`", "1",
    "2", "7", "12", "1,234", "0.5", "-3", "½", "x", "y", "n", "e", "i", r"\pi", r"\frac", r"\frac{1}{2}", r"\sqrt",
    r"\sqrt[3]{", "^", "_", "^{", "_{", "!", "%", "'", "+", "-", "*", "/", "=", "<", ">", r"\le", r"\ge", r"\ne",
    r"\approx", r"\in", r"\pm", r"\mp", ",", ";", ":", ".", "...", r"\ldots", "(", ")", "[", "]", r"\{", r"\}", "|",
    r"\left(", r"\right)", r"\left.", r"\right.", r"\cup", r"\cap", r"\setminus", r"\emptyset", r"\infty",
    r"\mathbb{R}", r"\text{", r"\text{ cm}", r"\mathrm{", r"\begin{pmatrix}", r"\end{pmatrix}", "&", "\\\\",
    r"\begin{cases}", r"\end{cases}", r"\sum_{k=1}^{n}", r"\sum_{k=1}^{100}", r"\int_0^1", "dx", r"\lim_{x\to 0}",
    r"\binom", r"\log_2", r"\sin", r"\cos^{-1}", "sin(", "sqrt(", "and", "or", "not", "Yes", "No", "A", "B", "(C)",
    "cm", "hours", "dollars", r"\$", "€", "5 apples", "2:30 pm", "March 5, 2020", "2020-03-05", "Tuesday", "1011_2",
    "0x2A", "3:4", "°", "²", "√", "∞", "≤", "×", "，", "（", "\u200b", "\ufeff", "𝟕", "🙂", "é", "\x00", "\x7f",
    "\\", "lambda: 7", "__import__('os')", "9^{9^{9^{9}}}", "5**5**5**5", "1e999", "10^{10^{10}}", "100000!",
    r"\overline{3}", "0.", "x_", r"\unknown", r"\phantom{7}", r"\cancel{5}", r"\neg",
)  # fmt: skip


def texts(seed: int, count: int) -> Iterator[str]:
    """The same texts for the same seed."""
    source = random.Random(f"verigold fuzz {seed}")
    for _ in range(count):
        yield text(source)


def text(source: random.Random) -> str:
    length = min(int(source.expovariate(1 / 12)) + 1, 120)
    parts = [source.choice(FRAGMENTS) for _ in range(length)]
    joined = source.choice(("", " ", "")).join(parts)
    shape = source.random()
    if shape < 0.35:
        joined = rf"\boxed{{{joined}}}"
    elif shape < 0.45:
        joined = joined * source.randrange(2, 20)
    elif shape < 0.55 and len(joined) > 2:
        cut = source.randrange(len(joined))
        joined = joined[:cut] + chr(source.randrange(32, 0x2FFF)) + joined[cut + 1 :]
    return joined


GOLDS = (
    "7", "-1234", "0.5", r"\frac{3}{4}", r"2\sqrt{3}", "28\\%", r"5 \text{ cm}", "(1,2)", r"\{1,2,3\}", "[0,1)",
    "x>3", "x=5", "2x+3y=6", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "x^2-4", "3+4i", "1011_2", "2:30 pm",
    "March 5, 2020", "Yes", "B", r"\infty", r"\emptyset", r"\pm 3", "increasing", "3:4", r"\sum_{k=1}^{n} k",
    r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R}",
)  # fmt: skip
