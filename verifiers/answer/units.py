"""Units of measurement: words and symbols to a factor and dimensions. The definitions are pint's, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verifiers.answer.lists import listed
from verifiers.answer.tokens import Token

if TYPE_CHECKING:
    from pint import UnitRegistry

Dimensions = tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """value in base units = value * factor + offset. `counted`: a thing that is counted or a word that we do not know;
    it is equal to every other unit and to none."""

    name: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    dimensions: Dimensions = ()
    counted: bool = False


PERCENT, DEGREE, RADIAN = (Unit(name, dimensions=((name, Fraction(1)),)) for name in ("percent", "degree", "radian"))
ARCMINUTE, ARCSECOND = (
    Unit(name, factor=Fraction(1, parts), dimensions=DEGREE.dimensions)
    for name, parts in (("arcminute", 60), ("arcsecond", 3600))
)

_MONEY = {
    "dollar": ("usd", 1), "dollars": ("usd", 1), "usd": ("usd", 1), "$": ("usd", 1), "buck": ("usd", 1),
    "bucks": ("usd", 1), "cent": ("usd", Fraction(1, 100)), "cents": ("usd", Fraction(1, 100)),
    "¢": ("usd", Fraction(1, 100)), "euro": ("eur", 1), "euros": ("eur", 1), "eur": ("eur", 1), "€": ("eur", 1),
    "gbp": ("gbp", 1), "£": ("gbp", 1), "penny": ("usd", Fraction(1, 100)), "pennies": ("usd", Fraction(1, 100)),
    "pence": ("gbp", Fraction(1, 100)), "yuan": ("cny", 1), "元": ("cny", 1), "rmb": ("cny", 1), "cny": ("cny", 1),
    "人民币": ("cny", 1), "₹": ("inr", 1), "hk": ("hkd", 1), "nt": ("twd", 1), "au": ("aud", 1),
    "¥": ("cny", 1), "块": ("cny", 1), "角": ("cny", Fraction(1, 10)), "分": ("cny", Fraction(1, 100)),
    "rupee": ("inr", 1), "rupees": ("inr", 1), "rs": ("inr", 1), "yen": ("jpy", 1), "won": ("krw", 1),
}  # fmt: skip
_SPECIAL = {
    "percent": PERCENT, "pct": PERCENT, "%": PERCENT, "percents": PERCENT, "per cent": PERCENT,
    "percentage": PERCENT, "degree": DEGREE, "degrees": DEGREE, "deg": DEGREE, "度": DEGREE, "radian": RADIAN,
    "radians": RADIAN, "rad": RADIAN, "ad": Unit("ad", counted=True), "ce": Unit("ad", counted=True),
    "arcminute": ARCMINUTE, "arcminutes": ARCMINUTE, "arcmin": ARCMINUTE, "arcsecond": ARCSECOND,
    "arcseconds": ARCSECOND, "arcsec": ARCSECOND,
}  # fmt: skip
_FOREIGN = {
    "厘米": "cm", "毫米": "mm", "米": "m", "千米": "km", "公里": "km", "分米": "dm", "克": "g", "千克": "kg",
    "公斤": "kg", "吨": "t", "秒": "s", "分钟": "minute", "小时": "hour", "天": "day", "年": "year", "升": "liter",
    "毫升": "ml", "平方厘米": "cm^2", "平方米": "m^2", "平方千米": "km^2", "立方厘米": "cm^3", "立方米": "m^3",
    "岁": "year", "hrs": "hour", "hr": "hour", "mins": "minute", "secs": "second", "sec": "second", "yrs": "year",
    "yr": "year", "lbs": "pound", "kph": "km/h", "kmh": "km/h", "kmph": "km/h", "sqft": "ft^2", "sqm": "m^2",
    "cc": "cm^3", "ft": "foot", "in": "inch", "cu": "", "litres": "liter", "metres": "meter", "kgs": "kg",
    "kms": "km", "gm": "gram", "gms": "gram", "gal": "gallon", "gals": "gallon",
}  # fmt: skip
_UPPER = {name.upper(): name for name in ("cm", "mm", "km", "kg", "ml", "min", "sec", "hr")}
_MULTIPLIERS = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
    "万": 10**4, "亿": 10**8, "k": 0,
}  # fmt: skip
_TEMPERATURE = {"C": "degC", "F": "degF", "celsius": "degC", "fahrenheit": "degF", "K": "kelvin", "kelvin": "kelvin"}
_SHAPES = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "squared": 2, "cubed": 3}
_CONFUSABLE = listed("e i x y z a b c d n k p q r t u v w f o j")
"""Letters that are variables in an answer more often than pint's unit of that name."""


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry:
    import pint

    exact: Any = Fraction
    return pint.UnitRegistry(non_int_type=exact, cache_folder=None)


@lru_cache(maxsize=4096)
def lookup(word: str) -> Unit | None:
    """One unit by name or symbol; None when nobody knows it."""
    lowered = word.lower()
    if lowered in _MONEY or word in _MONEY:
        currency, factor = _MONEY.get(lowered) or _MONEY[word]
        return Unit(word, factor=Fraction(factor), dimensions=((currency, Fraction(1)),))
    if lowered in _SPECIAL:
        return _SPECIAL[lowered]
    if word in _CONFUSABLE or not word.replace("_", "").isalpha() or len(word) > 30:
        return None
    return _from_pint(_UPPER.get(word) or _FOREIGN.get(lowered, word)) or (
        _from_pint(lowered) if lowered != word and len(word) > 2 else None
    )


def _from_pint(name: str) -> Unit | None:
    if not name:
        return None
    if any(mark in name for mark in "^/"):
        return _composed(name)
    if not name.isascii():
        return None
    import pint

    registry = _registry()
    try:
        if name not in registry:
            return None
        found: Any = registry.get_base_units(name)
        factor, base = found
        dimensions = tuple(sorted((part, Fraction(power)) for part, power in base._units.items()))
        offset = Fraction(0)
        if name in ("degC", "degF", "celsius", "fahrenheit"):
            quantity = registry.Quantity(Fraction(0), name).to_base_units()
            offset = _fraction(quantity.magnitude)
            factor = _fraction(registry.Quantity(Fraction(1), name).to_base_units().magnitude) - offset
    except (pint.errors.PintError, AttributeError, TypeError, ValueError):
        return None
    return Unit(name, factor=_fraction(factor), offset=offset, dimensions=dimensions)


def _fraction(value: Any) -> Fraction:
    return Fraction(value)


def _composed(name: str) -> Unit | None:
    above, _, below = name.partition("/")
    parts: list[tuple[Unit, int]] = []
    for text, sign in ((above, 1), (below, -1)):
        if text:
            word, _, exponent = text.partition("^")
            unit = _from_pint(word)
            if unit is None:
                return None
            parts.append((unit, sign * int(exponent or 1)))
    return combine(name, parts)


def combine(name: str, parts: Sequence[tuple[Unit, int]]) -> Unit:
    """The product of powers of units. A single unit keeps its offset."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    factor = Fraction(1)
    dimensions: dict[str, Fraction] = {}
    for unit, power in parts:
        factor *= unit.factor**power
        for part, own in unit.dimensions:
            dimensions[part] = dimensions.get(part, Fraction(0)) + own * power
    kept = tuple(sorted((part, power) for part, power in dimensions.items() if power))
    return Unit(name, factor=factor, dimensions=kept, counted=any(unit.counted for unit, _ in parts))


def multiplier(word: str) -> int:
    """1000000 for million; 0 for a word that is none."""
    return _MULTIPLIERS.get(word.lower().rstrip("s") if word.lower() != "dozens" else "dozen", 0)


class _Reader:
    """Tokens after a number, as a product of units: `m/s^2`, `square centimeters`, `meters per second`, ^{circ} C."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.parts: list[tuple[Unit, int]] = []
        self.sign = 1
        self.shape = 1

    def run(self) -> Unit | None:
        while self.at < len(self.tokens):
            if not self.step(self.tokens[self.at]):
                return None
        if not self.parts:
            return None
        return combine("".join(token.value for token in self.tokens), self.parts)

    def step(self, token: Token) -> bool:
        self.at += 1
        if token.kind == "op" and token.value == "/":
            self.sign = -1
            return bool(self.parts)
        if token.value in (r"\cdot", "*", r"\times"):
            return bool(self.parts)
        if token.value in "$%" or token.value == r"\cent":
            return self.unit(token.value)
        if token.value == r"\Omega":
            return self.unit("ohm")
        if token.kind not in ("word", "text", "letter"):
            return False
        *before, last = token.value.split() or [""]
        # an exponent belongs to the last of several words
        place, self.at = self.at, len(self.tokens)
        read = all(self.word(word) for word in before)
        self.at = place
        return read and self.word(last)

    def word(self, word: str) -> bool:
        lowered = word.lower()
        if lowered in ("per", "a", "an", "each", "每") and (lowered in ("per", "每") or self.parts):
            self.sign = -1 if lowered == "per" or lowered == "每" else self.sign
            return True
        if lowered in ("of", "in", "total", "the"):
            return lowered != "in" or bool(self.parts) or self.unit("in")
        if lowered in _SHAPES:
            if lowered in ("squared", "cubed") and self.parts:
                unit, power = self.parts[-1]
                self.parts[-1] = (unit, power * _SHAPES[lowered])
            else:
                self.shape = _SHAPES[lowered]
            return True
        return self.unit(word)

    def unit(self, word: str) -> bool:
        found = lookup(word)
        if found is None and _countable(word):
            found = Unit(word.lower(), counted=True)
        if found is None:
            return False
        self.parts.append((found, self.sign * self.shape * self.power()))
        self.shape = 1
        return True

    def power(self) -> int:
        """An exponent after the unit: ^2, ^{2}, ^{-1}."""
        if self.at >= len(self.tokens) or self.tokens[self.at].value != "^":
            return 1
        values: list[str] = []
        self.at += 1
        while self.at < len(self.tokens) and len(values) < 4:
            value = self.tokens[self.at].value
            if value not in "{}-" and not value.isdecimal():
                break
            values.append(value)
            self.at += 1
            if value == "}" or (value.isdecimal() and values[0] != "{"):
                break
        text = "".join(values).strip("{}")
        return int(text) if text.lstrip("-").isdecimal() and len(text) < 4 else 1


def _countable(word: str) -> bool:
    """A noun that we do not know, rather than a product of variables."""
    lowered = word.lower()
    if lowered in _REFUSED or (len(word) < 3 and word.isascii()):
        return False
    return not word.isascii() or (
        (len(word) > 3 or any(letter in "aeiouy" for letter in lowered)) and not word.isupper()
    )


def noun(word: str) -> Unit | None:
    """The unit or thing that a number word counts."""
    return lookup(word) or (Unit(word.lower(), counted=True) if word.isascii() and _countable(word) else None)


_REFUSED = listed(
    "ish not or and no none if when where for is are but than then least most more less about between either "
    "neither maybe approximately exactly possible mod times plus minus to from with all any undefined"
)


MAX_TOKENS = 24


def read_unit(tokens: Sequence[Token]) -> Unit | None:
    """Tokens that follow a number as a unit; None when they are none."""
    if not tokens or len(tokens) > MAX_TOKENS:
        return None
    celsius = _temperature(tokens)
    if celsius is not None:
        return celsius
    return _Reader(tokens).run()


def _temperature(tokens: Sequence[Token]) -> Unit | None:
    values = [token.value for token in tokens if token.value not in ("^", "{", "}", r"\circ", "degrees", "degree")]
    if len(values) == 1 and values[0].lower() in ("c", "f", "celsius", "fahrenheit") and len(tokens) > 1:
        return _from_pint(_TEMPERATURE.get(values[0]) or _TEMPERATURE[values[0].lower()])
    if len(tokens) == 1 and tokens[0].value.lower() in ("celsius", "fahrenheit"):
        return _from_pint(_TEMPERATURE[tokens[0].value.lower()])
    return None
