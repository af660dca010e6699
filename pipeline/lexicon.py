"""Word lists of the canonical form: which words decide what a mathematics problem asks, and which are dressing."""

from __future__ import annotations

from types import MappingProxyType


def _list(words: str) -> list[str]:
    return words.split()


FUNCTIONS = frozenset(
    _list(
        """
        sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp gcd lcm max min mod det lim
        sup inf dim ker arg sqrt frac binom sum prod int lfloor rfloor lceil rceil
        """
    )
)

GREEK = frozenset(
    _list(
        """
        alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho
        sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
        ell
        """
    )
)

STOP = frozenset(
    _list(
        """
        a an the of to in on at by for from with without as is are was were be been being am do does did has
        have had having it its this that these those there here he she they them his her their him i we us our
        you your who whom whose which what when where how why if then than so such and or but not no nor also
        just each every any all some both either neither one ones let given suppose assume consider find
        compute determine calculate evaluate express expressed answer answers give write what's will would can
        could may might must shall should into onto over under up down out off only about after before while
        during per same other another more very much many few s t re ve ll d get gets got make makes made take
        takes took number value values amount total problem following please form enter simplest simplified
        simplify your his out dollars dollar bucks usd cents
        """
    )
)
"""Words that never count as shared content. Some of them are hard words as well; that is decided first."""

_GROUPS = """
max: maximum maximal maximize maximizes maximised maximise maximized largest greatest biggest highest most
min: minimum minimal minimize minimizes minimise minimized minimised smallest least lowest fewest
sum: sums
product: products
difference: differences
quotient: quotients ratio
average: mean averages
negative: nonpositive
nonnegative: non-negative
real: reals
complex: imaginary
integer: integers
prime: primes
first: 1st
second-place: 2nd
third: 3rd
fourth: 4th
fifth: 5th
last: final
more: greater larger higher bigger
less: fewer smaller lower
increase: increases increased increasing
decrease: decreases decreased decreasing
inradius: incircle incenter
circumradius: circumcircle circumcenter
excircle: excenter
altitude: altitudes
bisector: bisectors bisects
midpoint: midpoints
triangle: triangles triangular
square: squares squared
rectangle: rectangles rectangular
quadrilateral: quadrilaterals
parallelogram: parallelograms
trapezoid: trapezium
pentagon: pentagons pentagonal
hexagon: hexagons hexagonal
octagon: octagons octagonal
circle: circles circular
ellipse: ellipses
parabola: parabolas
hyperbola: hyperbolas
sphere: spheres
cube: cubes cubed cubic
cylinder: cylinders
cone: cones
pyramid: pyramids
prism: prisms
area: areas
volume: volumes
radius: radii
diameter: diameters
length: lengths long
width: widths wide
height: heights tall
distance: distances
angle: angles
vertex: vertices
edge: edges
side: sides
diagonal: diagonals
degree: degrees
radian: radians
percent: percentage
decimal: decimals
permutation: permutations
combination: combinations
row: rows
column: columns
coefficient: coefficients
root: roots zeros zeroes
remainder: remainders
divisor: divisors factor factors
multiple: multiples
digit: digits
identical: indistinguishable
labeled: labelled
unlabeled: unlabelled
true: correct
false: incorrect
true-not: untrue
king: kings
queen: queens
jack: jacks
ace: aces
heart: hearts heartsuit
diamond: diamonds diamondsuit
club: clubs clubsuit
spade: spades spadesuit
head: heads
tail: tails
boy: boys
girl: girls
asymptote: asymptotes
intercept: intercepts
tangent: tangents
matrix: matrices
inverse: inverses
vector: vectors
intersection: intersect intersects
subset: subsets
convergent: converge converges
divergent: diverge diverges
counterclockwise: anticlockwise
monday: mondays
tuesday: tuesdays
wednesday: wednesdays
thursday: thursdays
friday: fridays
saturday: saturdays
sunday: sundays
second: seconds sec
minute: minutes min.
hour: hours hr hrs
day: days daily
week: weeks weekly
month: months monthly
year: years yearly annually annual
inch: inches
foot: feet ft
yard: yards
mile: miles
millimeter: millimeters mm
centimeter: centimeters cm centimetres centimetre
meter: meters metres metre
kilometer: kilometers km kilometres
gram: grams
kilogram: kilograms kg
pound: pounds lbs lb
ounce: ounces oz
liter: liters litres litre
gallon: gallons
not: n't cannot isn't aren't doesn't don't can't won't nor
"""

_ALONE = """
median mode range odd even positive nonzero rational irrational composite even-function before after above
below left right inscribed circumscribed orthocenter centroid perpendicular parallel rhombus heptagon decagon
dodecagon tetrahedron octahedron icosahedron dodecahedron perimeter circumference acute obtuse interior
exterior equilateral isosceles scalene horizontal vertical slope fraction binary probability numerator
denominator constant arithmetic geometric harmonic distinct distinguishable with without replacement inclusive
exclusive always never sometimes except red blue green yellow white black domain x-intercept y-intercept sine
cosine determinant transpose union complement continuous discontinuous linear quadratic quartic injective
surjective bijective reflexive symmetric transitive clockwise upstream downstream morning afternoon evening
north south east west
"""
"""Groups of one word."""


def _fold() -> dict[str, str]:
    folded: dict[str, str] = {}
    for line in _GROUPS.strip().splitlines():
        head, _, rest = line.partition(":")
        for word in (head, *rest.split()):
            folded.setdefault(word, head)
    for word in _ALONE.split():
        folded.setdefault(word, word)
    return folded


HARD = MappingProxyType(_fold())
"""Word -> the name of its group. Two problems that differ in such a word ask different things."""

LOOSE = frozenset(
    _list(
        """
        with long wide tall more less before after day week month year hour minute second side left right
        correct white total last true most not max second-place percent dollar average length number
        """
    )
)
"""Groups that a rewording may add or lose; they count in order for near copies, and not for rewordings."""

NUMBER_WORDS = MappingProxyType(
    {
        "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
        "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
        "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20",
        "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80",
        "ninety": "90", "hundred": "100", "thousand": "1000", "million": "1000000", "dozen": "12", "twice": "2",
        "double": "2", "doubled": "2", "doubles": "2", "thrice": "3", "triple": "3", "tripled": "3", "triples": "3",
        "quadruple": "4", "half": "1/2", "halves": "1/2", "halved": "1/2", "thirds": "/3", "quarters": "/4",
        "quarter": "/4",
    }
)  # fmt: skip
"""Spelled numbers; `one` is left out, for it is a pronoun more often than a number."""

SYMBOLS = MappingProxyType(
    {
        "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "∕": "/",
        "⁄": "/", "≤": " <= ", "≥": " >= ", "≠": " != ", "≡": " == ", "≈": " ~ ", "∞": " \\infty ", "√": " \\sqrt ",
        "°": " degrees ", "º": " degrees ", "∠": " \\angle ", "△": " \\triangle ", "Δ": " \\Delta ", "∈": " \\in ",
        "∪": " \\cup ", "∩": " \\cap ", "⊥": " \\perp ", "∥": " \\parallel ", "→": " \\to ", "…": "...", "⋯": "...",
        "“": '"', "”": '"', "‘": "'", "’": "'", "′": "'", "″": "''", "\u00a0": " ", "∑": " \\sum ", "∏": " \\prod ",
        "∫": " \\int ", "±": " \\pm ", "½": "\\frac{1}{2}", "⅓": "\\frac{1}{3}", "⅔": "\\frac{2}{3}",
        "¼": "\\frac{1}{4}", "¾": "\\frac{3}{4}", "⅕": "\\frac{1}{5}", "⅛": "\\frac{1}{8}", "⅜": "\\frac{3}{8}",
        "⅝": "\\frac{5}{8}", "⅞": "\\frac{7}{8}", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}",
    }
)  # fmt: skip

COMMANDS = MappingProxyType(
    {
        "le": "<=", "leq": "<=", "leqslant": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=", "ne": "!=",
        "neq": "!=", "lt": "<", "gt": ">", "cdot": "*", "times": "*", "ast": "*", "div": "/", "cong": "=",
        "equiv": "==", "ldots": "...", "cdots": "...", "dots": "...", "dotsc": "...", "dotsb": "...", "dotsm": "...",
        "vdots": "...", "to": "->", "rightarrow": "->", "longrightarrow": "->", "mapsto": "->", "mid": "|",
        "vert": "|", "lvert": "|", "rvert": "|", "Vert": "||", "lVert": "||", "rVert": "||", "triangle": "triangle",
        "angle": "angle", "measuredangle": "angle", "square": "square", "perp": "perpendicular",
        "parallel": "parallel", "circ": "circ", "degree": "degree", "infty": "infty", "lbrace": "{", "rbrace": "}",
        "lbrack": "[", "rbrack": "]", "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta", "land": "and",
        "lor": "or", "heartsuit": "heart", "diamondsuit": "diamond", "clubsuit": "club", "spadesuit": "spade",
        "setminus": "\\", "backslash": "\\", "colon": ":", "ell": "l", "pmod": "mod", "bmod": "mod", "pi": "pi",
        "implies": "->", "iff": "<->", "prime": "'",
    }
)  # fmt: skip
"""LaTeX commands with one meaning -> their token; commands not named here keep their name."""

STYLE = frozenset(
    _list(
        """
        left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle displaystyle textstyle
        scriptstyle limits nolimits quad qquad hspace vspace hskip hfill noindent par newline linebreak
        smallskip medskip bigskip text textbf textit textrm textsf texttt textsc emph mathrm mathbf mathit
        mathsf mathtt mathcal mathscr mathfrak mathbb boldsymbol bm mbox hbox operatorname rm bf it sf tt cal
        overline underline vec hat widehat bar tilde widetilde overrightarrow overleftarrow mathop mathrel
        mathbin mathord centering large Large small tiny normalsize ensuremath phantom hphantom vphantom boxed
        fbox label tag nonumber notag hline allowbreak footnotesize scriptsize raisebox underbrace overbrace
        stackrel ensuremath intertext thinspace
        """
    )
)
"""Commands that change how something looks, not what it is."""
