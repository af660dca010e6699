"""What a worker process computes: equality by mpmath and sympy, and batches of verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from verifiers import reasoning_gym
from verifiers.answer import series
from verifiers.answer.tree import Node, Unreadable, symbols

_DIGITS = 30
_NEEDED = 1e-15
_MAX_SUBEXPRESSIONS = 400


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to one request; a failure of sympy on untrusted input is a reply too."""
    task = request.get("task")
    if task == "verify":
        return {"verdicts": _verdicts(request)}
    try:
        if task == reasoning_gym.TASK:
            return reasoning_gym.scores(request)
        if task == "equal":
            left, right = decoded(request["left"]), decoded(request["right"])
            return {"outcome": _by_values(left, right) or trees_equal(left, right)}
    except MemoryError:
        return {"outcome": "memory"}
    except Exception as error:
        # sympy raises nearly everything on odd input; the parent treats this as "could not be decided"
        return {"outcome": "unknown", "detail": f"{type(error).__name__}: {error}"[:200]}
    return {"outcome": "unknown", "detail": f"task {task}"}


def warm() -> None:
    """Imports what the first request would otherwise pay for."""
    import sympy

    x = sympy.Symbol("x", real=True)
    trees_equal(Node("sym", (), "x"), Node("sym", (), "x"))
    sympy.Integral(x, (x, 0, 1)).doit()
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2)
    sympy.Sum(1 / x**2, (x, 1, sympy.oo)).doit()


def _verdicts(request: Mapping[str, Any]) -> list[list[Any]]:
    from verifiers.registry import opened, packed_verdict, verify

    return [packed_verdict(verify(opened(item))) for item in request["requests"]]


# ---- trees as JSON -------------------------------------------------------------------------------------------------


def encoded(node: Node) -> list[Any]:
    value = str(node.value) if isinstance(node.value, (Fraction, int)) else node.value
    return [node.op, value, [encoded(child) for child in node.args]]


def decoded(value: Any) -> Node:
    op, content, children = value
    if op == "num":
        fraction = Fraction(content)
        content = fraction.numerator if fraction.denominator == 1 else fraction
    return Node(op, tuple(map(decoded, children)), content)


# ---- mpmath --------------------------------------------------------------------------------------------------------


def _by_values(left: Node, right: Node) -> str | None:
    """The outcome where sums and integrals have sure values, at two points inside the unit interval."""
    names = sorted(symbols(left) | symbols(right))
    found = {
        series.compared(left, right, {name: point + place / 29 for place, name in enumerate(names)})
        for point in ((0.37, 0.59) if names else (0.0,))
    }
    return found.pop() if len(found) == 1 else None


# ---- sympy ---------------------------------------------------------------------------------------------------------


def trees_equal(left: Node, right: Node) -> str:
    """symbolic, numeric, different or unknown."""
    import sympy

    difference = _built(left) - _built(right)
    if difference == 0:
        return "symbolic"
    difference = difference.doit()
    if difference == 0:
        return "symbolic"
    free = sorted(difference.free_symbols, key=str)
    points = [_point(free, prime) for prime in ((13, 29, 47) if free else (13,))]
    scale = _built(left)
    agreed = 0
    for point in points:
        gap = sympy.N(difference.subs(point), _DIGITS)
        size = sympy.N(scale.subs(point), _DIGITS)
        if not (gap.is_number and size.is_number) or gap.has(sympy.nan, sympy.zoo, sympy.oo):
            continue
        if abs(complex(gap)) > _NEEDED * max(abs(complex(size)), _NEEDED):
            return "different"
        agreed += 1
    if not agreed:
        return "unknown"
    return "symbolic" if difference.count_ops() < _MAX_SUBEXPRESSIONS and sympy.simplify(difference) == 0 else "numeric"


def _point(names: list[Any], prime: int) -> dict[Any, Any]:
    import sympy

    return {name: sympy.Rational(prime + 7 * place, 11 + place) for place, name in enumerate(names)}


def _built(node: Node) -> Any:
    import sympy

    op, children = node.op, node.args
    if op == "num":
        return sympy.Rational(str(node.value))
    if op == "sym":
        return sympy.Symbol(str(node.value), real=True)
    if op == "const":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}[str(node.value)]
    if op in ("sum", "prod", "int", "lim"):
        return _bound(node)
    built = [_built(child) for child in children]
    if op == "func":
        return _function(str(node.value), built)
    builders: dict[str, Any] = {
        "add": sympy.Add, "mul": sympy.Mul, "neg": lambda a: -a, "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b, "root": sympy.real_root if built[0].is_real else lambda a, n: a ** (1 / n),
        "group": lambda a: a, "abs": sympy.Abs, "floor": sympy.floor, "ceil": sympy.ceiling, "log": sympy.log,
        "fact": sympy.factorial, "fact2": sympy.factorial2, "binom": sympy.binomial,
        "percent": lambda a: a / 100, "degree": lambda a: a * sympy.pi / 180,
    }  # fmt: skip
    if op not in builders:
        raise Unreadable(op)
    return builders[op](*built)


def _function(name: str, built: list[Any]) -> Any:
    import sympy

    names = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot", "ln": "log", "sgn": "sign",
             "Re": "re", "Im": "im", "max": "Max", "min": "Min", "arcsinh": "asinh", "arccosh": "acosh",
             "arctanh": "atanh", "arcsec": "asec", "arccsc": "acsc"}  # fmt: skip
    known = frozenset(
        ("sin cos tan cot sec csc sinh cosh tanh coth sech csch exp gcd lcm erf " + " ".join(names.values())).split()
    )
    target = names.get(name, name)
    if target not in known:
        raise Unreadable(name)
    return getattr(sympy, target)(*built)


def _bound(node: Node) -> Any:
    import sympy

    kind = {"integer": True} if node.op in ("sum", "prod") else {"real": True}
    name = sympy.Symbol(str(node.value), **kind)
    body, *bounds = (_built(child) for child in node.args)
    body = body.subs(sympy.Symbol(str(node.value), real=True), name)
    if node.op == "lim":
        return sympy.limit(body, name, bounds[0])
    if node.op == "int":
        return sympy.Integral(body, (name, *bounds) if bounds else name)
    return (sympy.Sum if node.op == "sum" else sympy.Product)(body, (name, *bounds))
