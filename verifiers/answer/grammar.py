"""Names and binding powers of the expression grammar."""

from __future__ import annotations

from verifiers.answer.lists import listed

ADD, MULTIPLY, IMPLICIT, PREFIX, POWER = 10, 20, 25, 18, 30
"""Binding powers. A prefix minus binds weaker than multiplication, so that -x^2 and -2x are negated as a whole."""

ADDITIVE = {"+": "add", "-": "sub", r"\pm": "pm", r"\mp": "mp"}
MULTIPLICATIVE = {"*": "mul", r"\cdot": "mul", r"\times": "mul", "/": "div", r"\div": "div"}

FUNCTIONS = listed(
    "sin cos tan cot sec csc sinh cosh tanh coth sech csch ln lg exp det gcd lcm max min arg Re Im deg dim "
    "ker sgn sign arcsin arccos arctan arccot arcsec arccsc asin acos atan acot arcsinh arccosh arctanh asinh "
    "acosh atanh erf cis tr rank log abs floor ceil ceiling sqrt cbrt mod Gamma"
)
ALIASES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "acot": "arccot", "tg": "tan", "ctg": "cot",
    "cosec": "csc", "arctg": "arctan", "sign": "sgn", "ceiling": "ceil", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "arsinh": "arcsinh", "arcosh": "arccosh", "artanh": "arctanh",
}  # fmt: skip
SEVERAL_ARGUMENTS = frozenset(("gcd", "lcm", "max", "min"))

PROSE = listed(
    "the is and for not are you we it of to in so if as at by no or all any but has had was its an be do can "
    "may our let how who why one two six ten yes per via out use get got"
)
"""Short words that are never products of variables."""

CONSTANTS = {
    r"\pi": "pi", "pi": "pi", r"\infty": "inf", "infinity": "inf", "inf": "inf", "oo": "inf", "infty": "inf",
    "e": "e", "i": "i",
}  # fmt: skip

GREEK = listed(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
ACCENTS = listed(
    r"\overline \bar \hat \widehat \vec \overrightarrow \overleftarrow \tilde \widetilde \dot \ddot \overset "
    r"\underset \angle \triangle \stackrel \mathring \check \overleftrightarrow \overarc \wideparen"
)
"""Marks over (or before) a name: the whole is one symbol, its letters are not factors."""

SAME_ACCENTS = {r"\overrightarrow": r"\vec", r"\widehat": r"\hat", r"\bar": r"\overline", r"\widetilde": r"\tilde"}

FENCES = {r"\lfloor": (r"\rfloor", "floor"), r"\lceil": (r"\rceil", "ceil"), r"\|": (r"\|", "norm")}
BIG_OPERATORS = {r"\sum": "sum", r"\prod": "prod"}
EXPRESSION_ENDS = frozenset((r"\rfloor", r"\rceil", r"\|", r"\to", r"\ldots"))
