"""Tokens of one scalar expression to a tree: precedence climbing, bounded in nodes and depth, no evaluation."""

from __future__ import annotations

from verifiers.answer import commands, grammar, names, numerals, tree
from verifiers.answer.literals import literal
from verifiers.answer.tokens import Token, closing_places
from verifiers.answer.tree import MAX_DEPTH, MAX_NODES, Node, TooComplex, Unreadable

END = Token("end", "")
NEGATIVE_ONE = tree.number(-1)
_STARTS = frozenset(("num", "letter", "word", "command", "text", "open"))


def parse(tokens: list[Token]) -> Node:
    """Raises Unreadable when the tokens are not one scalar expression, TooComplex when a limit is met."""
    if len(tokens) > MAX_NODES:
        raise TooComplex("too many tokens")
    parser = Parser(list(tokens))
    return tree.shallow(parser.whole(0, len(tokens)))


class Parser:
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

    def fresh(self, tokens: list[Token]) -> Node:
        """Tokens of another place, such as the bounds of a sum."""
        return parse(tokens)

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
        self.enter()
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
                factors = [left]
                while self.starts_factor():
                    factors.append(self.expression(grammar.IMPLICIT + 1))
                left = Node("mul", tuple(factors))
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
        token, before = self.peek(), self.tokens[min(self.at, len(self.tokens)) - 1]
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
            if token.value == r"\circ" and token.kind == "command" and node.op == "num":
                self.take()
                return self.arc_minutes(Node("degree", (node,)))
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
            width = len(mark) if marks == ["'"] * len(mark) else int(size == 3600 and marks[0] == '"')
            if self.peek().kind == "num" and width:
                parts.append(Node("div", (literal(self.take().value), tree.number(size))))
                self.at += width
        return Node("degree", (parts[0] if len(parts) == 1 else Node("add", tuple(parts)),))

    def is_group_of(self, value: str) -> bool:
        return self.peek().value == "{" and self.peek(1).value == value and self.peek(2).value == "}"

    def enter(self) -> None:
        """One level of recursion deeper; the caller takes it back by `self.depth -= 1`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooComplex("too deep")

    def script(self) -> Node:
        self.enter()
        node = self.scripted()
        self.depth -= 1
        return node

    def scripted(self) -> Node:
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
            return numerals.numeral(self)
        if token.kind == "open":
            return self.group()
        if token.kind == "letter":
            self.take()
            return names.name(self, token.value)
        if token.kind == "text":
            self.take()
            return commands.roman(self, token.value)
        if token.kind == "word":
            self.take()
            return commands.word(self, token.value)
        if token.kind == "command":
            self.take()
            return commands.command(self, token.value)
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

    # ---- commands --------------------------------------------------------------------------------------------------
