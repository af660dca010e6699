"""Tokens of one scalar expression to a tree: precedence climbing, bounded in nodes and depth, no evaluation."""

from __future__ import annotations

from fractions import Fraction

from verifiers.answer import grammar, tree
from verifiers.answer.tokens import Token, closing_places
from verifiers.answer.tree import MAX_DEPTH, MAX_NODES, Node, TooComplex, Unreadable

END = Token("end", "")
NEGATIVE_ONE = tree.number(-1)
_STARTS = frozenset(("num", "letter", "word", "command", "text", "open"))


def parse(tokens: list[Token]) -> Node:
    """Raises Unreadable when the tokens are not one scalar expression, TooComplex when a limit is met."""
    if len(tokens) > MAX_NODES:
        raise TooComplex("too many tokens")
    parser = _Parser(list(tokens))
    return parser.whole(0, len(tokens))


def literal(text: str) -> Node:
    """3, 0.50, 3.2e5 as an exact number."""
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    if len(text) > MAX_NODES or len(exponent) > 6:
        raise TooComplex("too many digits")
    if not exponent and "." not in mantissa:
        return tree.number(int(mantissa)) if len(mantissa) <= 4000 else _long_integer(mantissa)
    value = Fraction(mantissa if mantissa[-1] != "." else mantissa[:-1])
    if exponent:
        power = int(exponent)
        if abs(power) > 4000:
            return Node("mul", (tree.number(value), Node("pow", (tree.number(10), tree.number(power)))))
        value *= Fraction(10) ** power
    return tree.number(value)


def _long_integer(digits: str) -> Node:
    """int() refuses more than 4,300 digits by default; chunks avoid changing a setting of the whole process."""
    value = 0
    for start in range(0, len(digits), 4000):
        chunk = digits[start : start + 4000]
        value = value * 10 ** len(chunk) + int(chunk)
    return tree.number(value)


class _Parser:
    """State: tokens, position and end of the slice being read, nodes and depth used so far."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.closing = closing_places(tokens)
        self.at = 0
        self.end = len(tokens)
        self.bars = 0
        self.depth = 0
        self.nodes = 0

    def whole(self, start: int, end: int) -> Node:
        """The slice as one expression; the position afterwards is the caller's."""
        saved = self.at, self.end, self.bars
        self.at, self.end, self.bars = start, end, 0
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooComplex("too deep")
        split = self.infix_command(start, end)
        if split is not None:
            op, place = split
            node = Node(op, (self.whole(start, place), self.whole(place + 1, end)))
        else:
            node = self.expression(0)
            if self.at != end:
                raise Unreadable(f"unexpected {self.peek().value!r}")
        self.depth -= 1
        self.at, self.end, self.bars = saved
        return node

    def infix_command(self, start: int, end: int) -> tuple[str, int] | None:
        place = start
        while place < end:
            token = self.tokens[place]
            if token.kind == "open":
                place = self.closing[place]
            elif token.value in (r"\over", r"\choose") or (token.value == "choose" and token.kind in ("word", "text")):
                return ("div" if token.value == r"\over" else "binom"), place
            place += 1
        return None

    def peek(self, ahead: int = 0) -> Token:
        place = self.at + ahead
        return self.tokens[place] if place < self.end else END

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooComplex("too many nodes")
        return token

    def accept(self, value: str) -> bool:
        if self.peek().value == value and self.peek().kind not in ("text", "end"):
            self.take()
            return True
        return False

    # ---- operators -------------------------------------------------------------------------------------------------

    def expression(self, power: int) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH * 2:
            raise TooComplex("too deep")
        left = self.prefix()
        while True:
            token = self.peek()
            if power <= grammar.ADD and token.value in grammar.ADDITIVE and token.kind in ("op", "command"):
                left = self.sum_of(left)
            elif (
                power <= grammar.MULTIPLY and token.value in grammar.MULTIPLICATIVE and token.kind in ("op", "command")
            ):
                left = self.product_of(left)
            elif power <= grammar.IMPLICIT and self.starts_factor():
                left = Node("mul", (left, self.expression(grammar.IMPLICIT + 1)))
            else:
                self.depth -= 1
                return left

    def sum_of(self, left: Node) -> Node:
        terms = [left]
        while self.peek().value in grammar.ADDITIVE and self.peek().kind in ("op", "command"):
            op = grammar.ADDITIVE[self.take().value]
            right = self.expression(grammar.ADD + 1)
            if op == "add":
                terms.append(right)
            elif op == "sub":
                terms.append(Node("neg", (right,)))
            else:
                terms = [Node(op, (terms[0] if len(terms) == 1 else Node("add", tuple(terms)), right))]
        return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

    def product_of(self, left: Node) -> Node:
        factors = [left]
        while self.peek().value in grammar.MULTIPLICATIVE and self.peek().kind in ("op", "command"):
            op = grammar.MULTIPLICATIVE[self.take().value]
            # 1/2x is half of x, a/bc is a over bc
            halves = op == "div" and self.peek().kind == "num"
            right = self.expression(grammar.IMPLICIT + 1 if halves else grammar.MULTIPLY + 1)
            if op == "mul":
                factors.append(right)
            else:
                factors = [Node("div", (factors[0] if len(factors) == 1 else Node("mul", tuple(factors)), right))]
        return factors[0] if len(factors) == 1 else Node("mul", tuple(factors))

    def starts_factor(self) -> bool:
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind not in _STARTS:
            return token.value == "|" and self.bars == 0 and token.kind == "op"
        if token.kind == "num":
            return before.kind != "num"
        if token.kind == "command":
            return (
                token.value not in grammar.EXPRESSION_ENDS
                and token.value not in grammar.ADDITIVE | grammar.MULTIPLICATIVE
            )
        return True

    def prefix(self) -> Node:
        token = self.peek()
        if token.kind in ("op", "command"):
            if token.value == "-":
                self.take()
                return Node("neg", (self.expression(grammar.PREFIX),))
            if token.value == "+":
                self.take()
                return self.expression(grammar.PREFIX)
            if token.value in (r"\pm", r"\mp"):
                self.take()
                return Node(token.value[1:], (self.expression(grammar.PREFIX),))
        return self.postfix(self.atom())

    def postfix(self, node: Node) -> Node:
        while True:
            token = self.peek()
            if token.kind != "op":
                return node
            if token.value == "^":
                self.take()
                node = self.raised(node)
            elif token.value == "!":
                self.take()
                node = Node("fact2" if self.accept("!") else "fact", (node,))
            elif token.value == "%":
                self.take()
                node = Node("percent", (node,))
            elif token.value == "'" and node.op == "degree":
                raise Unreadable("minutes without a number")
            else:
                return node

    def raised(self, base: Node) -> Node:
        marks = (r"\circ", "o") if base.op == "num" else (r"\circ",)
        if self.peek().value in marks or any(map(self.is_group_of, marks)):
            self.at += 1 if self.peek().value in marks else 3
            return self.arc_minutes(Node("degree", (base,)))
        exponent = self.script()
        if base.op == "const" and base.value == "e":
            return Node("func", (exponent,), "exp")
        return Node("pow", (base, exponent))

    def arc_minutes(self, degrees: Node) -> Node:
        """30 degrees 15' 20'' is one angle."""
        parts = list(degrees.args)
        for mark, size in (("'", 60), ("''", 3600)):
            marks = [self.peek(ahead).value for ahead in range(1, 1 + len(mark))]
            if self.peek().kind == "num" and marks == ["'"] * len(mark):
                parts.append(Node("div", (literal(self.take().value), tree.number(size))))
                self.at += len(mark)
        return Node("degree", (parts[0] if len(parts) == 1 else Node("add", tuple(parts)),))

    def is_group_of(self, value: str) -> bool:
        return self.peek().value == "{" and self.peek(1).value == value and self.peek(2).value == "}"

    def script(self) -> Node:
        """What stands after ^: a group, or one signed token; x^{-1}, x^-1, x^2, 10^12."""
        if self.peek().kind == "open":
            return self.group()
        if self.peek().value == "-" and self.peek().kind == "op":
            self.take()
            return Node("neg", (self.script(),))
        if self.peek().kind == "num":
            node = literal(self.take().value)
            if self.peek().value == "^" and self.peek().kind == "op":
                self.take()
                return Node("pow", (node, self.script()))
            return node
        return self.atom()

    # ---- atoms -----------------------------------------------------------------------------------------------------

    def atom(self) -> Node:
        token = self.peek()
        if token.kind == "num":
            return self.numeral()
        if token.kind == "open":
            return self.group()
        if token.kind == "letter":
            self.take()
            return self.name(token.value)
        if token.kind == "text":
            self.take()
            return self.roman(token.value)
        if token.kind == "word":
            self.take()
            return self.word(token.value)
        if token.kind == "command":
            self.take()
            return self.command(token.value)
        if token.kind == "op" and token.value == "|":
            return self.absolute()
        raise Unreadable(f"unexpected {token.value!r}" if token.kind != "end" else "unexpected end")

    def group(self) -> Node:
        start, end = self.at, self.closing[self.at]
        pair = self.tokens[start].value + self.tokens[end].value
        if pair not in ("()", "[]", "{}") or end >= self.end:
            raise Unreadable(f"brackets {pair}")
        node = self.whole(start + 1, end)
        if pair == "[]" and node.op == "num":
            raise Unreadable("a list, no number")
        self.at = end + 1
        return Node("group", (node,)) if node.op == "num" and pair != "{}" else node

    def absolute(self) -> Node:
        self.take()
        self.bars += 1
        node = self.expression(0)
        self.bars -= 1
        if not self.accept("|"):
            raise Unreadable("| without its partner")
        return Node("abs", (node,))

    def numeral(self) -> Node:
        token = self.take()
        following = self.peek()
        if "." in token.value:
            if following.kind == "command" and following.value in (r"\overline", r"\bar", r"\dot"):
                return self.repeating(token.value)
            if (
                following.value == "("
                and not following.spaced
                and self.peek(1).value.isdigit()
                and self.peek(2).value == ")"
            ):
                self.at += 3
                return self.periodic(token.value, self.tokens[self.at - 2].value)
            if following.value == r"\ldots":
                self.take()
                return self.going_on(token.value)
        node = literal(token.value)
        whole = token.value.isdigit()
        if whole and following.value == r"\frac" and following.kind == "command":
            return self.mixed(node)
        if whole and following.kind == "num" and following.spaced and self.peek(1).value == "/":
            return self.mixed_inline(node)
        if whole and following.value == "C" and self.peek(1).kind == "num":
            self.take()
            return Node("binom", (node, literal(self.take().value)))
        return node

    def repeating(self, literal_text: str) -> Node:
        """0.1\\overline{6}; dots over the first and the last digit of the period mean the same."""
        digits, dotted = "", self.peek().value == r"\dot"
        while self.peek().kind in ("command", "num"):
            if self.peek().kind == "command" and self.peek().value not in (r"\overline", r"\bar", r"\dot"):
                break
            if self.peek().kind == "num":
                if not dotted:
                    break
                digits += self.take().value
                continue
            self.take()
            digits += self.digits()
        return self.periodic(literal_text, digits)

    def going_on(self, literal_text: str) -> Node:
        """0.1666...: the shortest period that stands three times at the end (twice for two digits and more)."""
        whole, _, digits = literal_text.partition(".")
        for length in range(1, len(digits) // 2 + 1):
            period = digits[-length:]
            if digits.endswith(period * (3 if length == 1 else 2)):
                while digits.endswith(period):
                    digits = digits[:-length]
                return self.periodic(f"{whole}.{digits}", period)
        raise Unreadable("digits that go on")

    def periodic(self, literal_text: str, digits: str) -> Node:
        whole, _, fixed = literal_text.partition(".")
        if not digits.isdigit() or len(digits) > 200 or len(literal_text) > 200:
            raise Unreadable("repeating decimal")
        value = Fraction(f"{whole or '0'}.{fixed or '0'}")
        return tree.number(value + Fraction(int(digits), (10 ** len(digits) - 1) * 10 ** len(fixed)))

    def digits(self) -> str:
        if self.peek().kind == "open":
            end = self.closing[self.at]
            text = "".join(token.value for token in self.tokens[self.at + 1 : end])
            self.at = end + 1
            return text
        return self.take().value

    def mixed(self, whole: Node) -> Node:
        """2\\frac{1}{2}: a mixed number when both parts are integers and the fraction is proper, else a product."""
        self.take()
        fraction = self.fraction()
        top, bottom = (part.value if part.op == "num" else None for part in fraction.args)
        if isinstance(top, int) and isinstance(bottom, int) and top < bottom and isinstance(whole.value, int):
            return tree.number(whole.value + Fraction(top, bottom))
        return Node("mul", (whole, fraction))

    def mixed_inline(self, whole: Node) -> Node:
        """1 1/4"""
        top, slash, bottom = self.peek(), self.peek(1), self.peek(2)
        if slash.kind != "op" or not top.value.isdigit() or not bottom.value.isdigit() or not int(bottom.value[:9]):
            raise Unreadable("two numbers side by side")
        if len(top.value) > 9 or len(bottom.value) > 9 or int(top.value) >= int(bottom.value):
            raise Unreadable("two numbers side by side")
        self.at += 3
        return tree.number(Fraction(int(str(whole.value)) * int(bottom.value) + int(top.value), int(bottom.value)))

    def roman(self, value: str) -> Node:
        """Upright text: a function, a constant, a name of one letter or a few; prose is no mathematics."""
        known = grammar.ALIASES.get(value, value)
        if known in grammar.FUNCTIONS or value in grammar.CONSTANTS:
            return self.word(value)
        if " " in value or (value.isascii() and len(value) > 3 and value.islower()) or value.lower() in grammar.PROSE:
            raise Unreadable(f"prose: {value}")
        return self.name(value)

    def word(self, value: str) -> Node:
        lowered = value.lower()
        known = grammar.ALIASES.get(lowered, lowered)
        if known in grammar.FUNCTIONS:
            return self.function(known)
        if lowered in grammar.CONSTANTS:
            return tree.constant(grammar.CONSTANTS[lowered])
        if value in grammar.GREEK:
            return self.name("\\" + value)
        if not value.isascii():
            return self.name(value)
        if not value.isupper() and (lowered in grammar.PROSE or len(value) > 3) or len(value) > 8:
            raise Unreadable(f"a word of prose: {value}")
        for function in ("sqrt", "sin", "cos", "tan", "ln", "log", "pi"):
            if value.endswith(function):
                return self.split_word(value[: -len(function)], function)
        return self.letters(value)

    def split_word(self, letters: str, function: str) -> Node:
        """xsin, nsqrt: letters before a function name."""
        head = self.letters(letters) if letters else None
        tail = self.word(function)
        return tail if head is None else Node("mul", (head, tail))

    def letters(self, value: str) -> Node:
        nodes = [self.plain_name(letter) for letter in value[:-1]] + [self.postfix(self.name(value[-1]))]
        self.nodes += len(nodes)
        return nodes[0] if len(nodes) == 1 else Node("mul", tuple(nodes))

    def plain_name(self, value: str) -> Node:
        return tree.constant(value) if value in ("e", "i") else tree.symbol(value)

    def name(self, value: str) -> Node:
        """A symbol with its subscript and primes; e and i are the constants when they carry neither."""
        full = value
        if self.peek().value == "_" and self.peek().kind == "op":
            self.take()
            full += "_" + self.raw_script()
        if value == "C" and full != "C" and self.peek().value == "^":
            return self.combination(full[2:])
        while self.peek().value == "'" and self.peek().kind == "op":
            self.take()
            full += "'"
        if value in ("f", "g", "h", "F", "G", "H") and self.peek().value == "(" and not self.peek().spaced:
            return Node("func", (self.group(),), full)
        return self.plain_name(full)

    def combination(self, lower: str) -> Node:
        """C_5^2 = C_2^5 = 5 choose 2."""
        self.take()
        upper = self.script()
        if lower.isdigit() and len(lower) < 9 and upper.op == "num" and isinstance(upper.value, int):
            big, small = max(int(lower), upper.value), min(int(lower), upper.value)
            return Node("binom", (tree.number(big), tree.number(small)))
        if lower.isalpha():
            return Node("binom", (tree.symbol(lower), upper))
        return Node("pow", (tree.symbol("C_" + lower), upper))

    def raw_script(self) -> str:
        if self.peek().kind == "open":
            end = self.closing[self.at]
            text = "".join(token.value for token in self.tokens[self.at + 1 : end])
            self.at = end + 1
            return text
        return self.take().value

    # ---- commands --------------------------------------------------------------------------------------------------

    def command(self, value: str) -> Node:
        name = value[1:]
        if value in grammar.CONSTANTS:
            return tree.constant(grammar.CONSTANTS[value])
        if value == r"\frac":
            return self.fraction()
        if value == r"\sqrt":
            return self.root()
        if value == r"\binom":
            return Node("binom", (self.argument(), self.argument()))
        known = grammar.ALIASES.get(name, name)
        if known in grammar.FUNCTIONS and name not in ("Gamma",):
            return self.function(known)
        if value in grammar.FENCES:
            return self.fenced(*grammar.FENCES[value])
        if value in grammar.BIG_OPERATORS:
            return self.big_operator(grammar.BIG_OPERATORS[value])
        if value == r"\int":
            return self.integral()
        if value == r"\lim":
            return self.limit()
        if value in grammar.ACCENTS:
            return self.accented(value)
        if value in grammar.ADDITIVE or value in grammar.MULTIPLICATIVE or value in grammar.EXPRESSION_ENDS:
            raise Unreadable(f"unexpected {value}")
        if self.peek().value == "{" and name not in grammar.GREEK:
            raise Unreadable(f"unknown command {value}")
        return self.name(value)

    def argument(self) -> Node:
        """The argument of \\frac and its kin: a group, one digit, or one atom."""
        token = self.peek()
        if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
            self.tokens[self.at] = token._replace(value=token.value[1:], spaced=False)
            return tree.number(int(token.value[0]))
        if token.kind == "num":
            return literal(self.take().value)
        if token.kind == "op" and token.value == "-":
            self.take()
            return Node("neg", (self.argument(),))
        return self.group() if token.value == "{" else self.atom()

    def fraction(self) -> Node:
        return Node("div", (self.argument(), self.argument()))

    def root(self) -> Node:
        index = tree.number(2)
        if self.peek().value == "[":
            end = self.closing[self.at]
            index = self.whole(self.at + 1, end)
            self.at = end + 1
        if self.peek().kind == "open":
            return Node("root", (self.group(), index))
        if self.peek().kind == "num":
            return Node("root", (literal(self.take().value), index))
        return Node("root", (self.atom(), index))

    def fenced(self, closing: str, op: str) -> Node:
        node = self.expression(0)
        if not self.accept(closing):
            raise Unreadable(f"{closing} is missing")
        return Node("func", (node,), op) if op == "norm" else Node(op, (node,))

    def function(self, name: str) -> Node:
        base = exponent = None
        while self.peek().value in ("_", "^") and self.peek().kind == "op":
            if self.take().value == "_":
                base = self.argument_of_log()
            else:
                exponent = self.script()
        if name in grammar.SEVERAL_ARGUMENTS:
            return Node("func", self.arguments(), name)
        inner = self.function_argument()
        node = _apply(name, inner, base)
        if exponent is None:
            return node
        if exponent == Node("neg", (tree.number(1),)) and node.op == "func":
            return Node("func", node.args, "arc" + name)
        return Node("pow", (node, exponent))

    def argument_of_log(self) -> Node:
        if self.peek().kind == "num" and self.peek(1).kind == "open":
            return literal(self.take().value)
        return self.argument()

    def function_argument(self) -> Node:
        if self.peek().kind == "open" and self.peek().value in "([{":
            inner = self.group()
            return inner.args[0] if inner.op == "group" else inner
        if self.accept("-"):
            return Node("neg", (self.function_argument(),))
        node = self.postfix(self.atom())
        while self.starts_factor() and not self.at_function():
            node = Node("mul", (node, self.postfix(self.atom())))
        return node

    def at_function(self) -> bool:
        token = self.peek()
        name = token.value.lstrip("\\")
        return token.kind in ("command", "word") and grammar.ALIASES.get(name, name) in grammar.FUNCTIONS

    def arguments(self) -> tuple[Node, ...]:
        if self.peek().kind != "open":
            raise Unreadable("a list of arguments was expected")
        start, end = self.at + 1, self.closing[self.at]
        nodes: list[Node] = []
        place = first = start
        while place <= end:
            token = self.tokens[place]
            if place == end or (token.value in (",", ";") and token.kind == "op"):
                nodes.append(self.whole(first, place))
                first = place + 1
            elif token.kind == "open":
                place = self.closing[place]
            place += 1
        self.at = end + 1
        return tuple(nodes)

    def bounds(self) -> tuple[list[Token], Node | None]:
        """The tokens below and the expression above a big operator."""
        lower: list[Token] = []
        upper: Node | None = None
        while self.peek().value in ("_", "^") and self.peek().kind == "op":
            if self.take().value == "^":
                upper = self.script()
            elif self.peek().kind == "open":
                end = self.closing[self.at]
                lower = self.tokens[self.at + 1 : end]
                self.at = end + 1
            else:
                lower = [self.take()]
        return lower, upper

    def big_operator(self, op: str) -> Node:
        lower, upper = self.bounds()
        if len(lower) < 3 or lower[0].kind != "letter" or lower[1].value != "=" or upper is None:
            raise Unreadable("bounds of a sum")
        body = self.expression(grammar.MULTIPLY)
        return bind(op, body, lower[0].value, (parse(lower[2:]), upper))

    def limit(self) -> Node:
        lower, _ = self.bounds()
        if len(lower) < 3 or lower[1].value != r"\to":
            raise Unreadable("bounds of a limit")
        return bind("lim", self.expression(grammar.MULTIPLY), lower[0].value, (parse(lower[2:]),))

    def integral(self) -> Node:
        lower, upper = self.bounds()
        place = self.at
        while place < self.end:
            following = self.tokens[place + 1] if place + 1 < self.end else END
            if self.tokens[place].kind == "open":
                place = self.closing[place]
            elif self.tokens[place].value == "d" and following.kind in ("letter", "command"):
                break
            elif self.tokens[place].kind == "word" and self.tokens[place].value in ("dx", "dt", "du", "dy", "dz"):
                break
            place += 1
        else:
            raise Unreadable("an integral without its differential")
        body = self.whole(self.at, place) if place > self.at else tree.number(1)
        joined = self.tokens[place].kind == "word"
        variable = self.tokens[place].value[1] if joined else self.tokens[place + 1].value
        self.at = place + (1 if joined else 2)
        bounds = (parse(lower), upper) if lower and upper is not None else ()
        return bind("int", body, variable, bounds)

    def accented(self, value: str) -> Node:
        if self.peek().kind == "open":
            end = self.closing[self.at]
            inner = "".join(token.value for token in self.tokens[self.at + 1 : end])
            if value in (r"\overline", r"\bar") and any(
                token.value in "+-" for token in self.tokens[self.at + 1 : end]
            ):
                return Node("func", (self.group(),), "conj")
            self.at = end + 1
        else:
            inner = self.take().value
        return self.name(f"{grammar.SAME_ACCENTS.get(value, value)}{{{inner}}}")


def bind(op: str, body: Node, variable: str, bounds: tuple[Node, ...]) -> Node:
    """A binder with its variable renamed by depth, so that sums that differ only in the index are equal trees."""
    fresh = f"#{_binders(body)}"
    return Node(op, (rename(body, variable, fresh), *bounds), fresh)


def _binders(node: Node) -> int:
    own = node.op in ("sum", "prod", "int", "lim")
    return own + max((_binders(child) for child in node.args), default=0)


def rename(node: Node, old: str, new: str) -> Node:
    """Every free symbol `old` (also the constants e and i, when they are an index) as `new`."""
    if node.op in ("sym", "const") and node.value == old:
        return tree.symbol(new)
    if not node.args:
        return node
    return Node(node.op, tuple(rename(child, old, new) for child in node.args), node.value)


def _apply(name: str, inner: Node, base: Node | None) -> Node:
    if name == "log" and base is not None:
        return Node("log", (inner, base))
    if name == "lg":
        return Node("log", (inner, tree.number(10)))
    if name == "sqrt":
        return Node("root", (inner, tree.number(2)))
    if name == "cbrt":
        return Node("root", (inner, tree.number(3)))
    if name in ("abs", "floor", "ceil"):
        return Node(name, (inner,))
    return Node("func", (inner,), "ln" if name == "log" else name)
