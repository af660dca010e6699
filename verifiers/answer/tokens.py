r"""Plain text (see `normalise.plain`) to tokens. One pass, linear time.

Kinds: num (digits, perhaps a point; value is the literal without separators), letter (one letter), word (two or more
letters, or letters of another script), command (a LaTeX command, with its backslash), text (the content of \text{...}
and its kin), op (one of the marks of the grammar), open and close (brackets; \left and \right are dropped).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from verifiers.answer.lists import listed
from verifiers.answer.tree import MAX_CHARS, TooComplex, Unreadable


class Token(NamedTuple):
    kind: str
    value: str
    spaced: bool = False
    """White space stood before it."""


TEXT_COMMANDS = listed(
    r"\text \textrm \textsf \texttt \textnormal \mathrm \mathsf \mathtt \mbox \hbox \operatorname \rm \textsc"
)
STYLED_COMMANDS = listed(
    r"\textbf \textit \emph \mathbf \mathit \boldsymbol \bm \underline \uline \boxed \fbox \framebox \textup "
    r"\mathnormal \ensuremath \bold \bf \it \mathop"
)
"""Commands whose argument counts as if they were absent; digits inside are digits."""
DROPPED = listed(
    r"\displaystyle \textstyle \scriptstyle \limits \nolimits \large \Large \LARGE \huge \Huge \small \tiny "
    r"\normalsize \left \right \bigl \bigr \Bigl \Bigr \biggl \biggr \big \Big \bigg \Bigg \middle \hfill "
    r"\blacksquare \square \Box \qed \qedhere \noindent \centering \mathstrut \strut \relax \nonumber \notag \null"
)
SKIPPED_WITH_ARGUMENT = listed(r"\hspace \vspace \phantom \hphantom \vphantom \label \tag \mspace \kern")
COLOURS = listed(r"\color \textcolor \mathcolor \colorbox \fcolorbox")

SYNONYMS = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\nicefrac": r"\frac", r"\sfrac": r"\frac",
    r"\dbinom": r"\binom", r"\tbinom": r"\binom", r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lbrack": "[",
    r"\rbrack": "]", r"\lparen": "(", r"\rparen": ")", r"\geq": r"\ge", r"\leq": r"\le", r"\geqslant": r"\ge",
    r"\leqslant": r"\le", r"\geqq": r"\ge", r"\leqq": r"\le", r"\lt": "<", r"\gt": ">", r"\neq": r"\ne",
    r"\mid": "|", r"\vert": "|", r"\lvert": "|", r"\rvert": "|", r"\colon": ":", r"\ratio": ":", r"\ast": "*",
    r"\star": "*", r"\cdotp": r"\cdot", r"\bullet": r"\cdot", r"\dots": r"\ldots", r"\cdots": r"\ldots",
    r"\ldots": r"\ldots", r"\dotsc": r"\ldots", r"\dotsb": r"\ldots", r"\varnothing": r"\emptyset",
    r"\O": r"\emptyset", r"\varphi": r"\phi", r"\varepsilon": r"\epsilon", r"\vartheta": r"\theta",
    r"\varrho": r"\rho", r"\varsigma": r"\sigma", r"\backslash": r"\setminus", r"\smallsetminus": r"\setminus",
    r"\degree": r"\circ", r"\%": "%", r"\$": "$", r"\&": "&", r"\#": "#", r"\_": "_", r"\bigcup": r"\cup",
    r"\bigcap": r"\cap", r"\infin": r"\infty", r"\approxeq": r"\approx", r"\simeq": r"\approx",
    r"\thickapprox": r"\approx", r"\rightarrow": r"\to", r"\lnot": r"\neg", r"\prime": "'",
    r"\iff": r"\Leftrightarrow", r"\wedge": r"\land", r"\vee": r"\lor", r"\imath": "i", r"\overset": r"\overset",
    r"\And": "&", r"\ell": "l", r"\langle": "(", r"\rangle": ")", r"\Vert": r"\|", r"\lVert": r"\|",
    r"\rVert": r"\|", r"\lbracket": "[", r"\rbracket": "]", r"\mathsym": "", r"\R": r"\mathbb{R}",
    r"\surd": r"\sqrt", r"\bmod": r"\mod", r"\Z": r"\mathbb{Z}",
    r"\N": r"\mathbb{N}", r"\Q": r"\mathbb{Q}", r"\C": r"\mathbb{C}",
}  # fmt: skip

_MASTER = re.compile(
    r"(?P<space>(?:\s|~|\\[,;:!\s>]|\\q?quad(?![A-Za-z])|\\thinspace(?![A-Za-z])|\\enspace(?![A-Za-z]))+)"
    r"|(?P<hex>0(?:[xX][0-9A-Fa-f]+|[bB][01]+|[oO][0-7]+)(?![\w.]))"
    r"|(?P<num>\d+(?:\.\d+|\.(?![\d.]))?|\.\d+)"
    r"|(?P<command>\\[A-Za-z]+)"
    r"|(?P<escape>\\[^A-Za-z\s])"
    r"|(?P<letters>[^\W\d_]+)"
    r"|(?P<op>\*\*|<=|>=|!=|<>|==|=<|=>|->|\+/-|\.\.\.+|[-+*/^_()\[\]{}|,;:=<>!'%&\"?@#$.€£¥₹])",
)
_EXPONENT = re.compile(r"[eE][+-]?\d+(?![\w.])")
_FREE_E = re.compile(r"(?<![A-Za-z\\\d.])e(?![A-Za-z])|(?<=\d)e(?![A-Za-z\d+-])")
"""Euler's number, beside which 2e+1 is a sum."""
_TIMES = re.compile(r"\s*[xX]\s*(?=10\s*(?:\^|\*\*))")
_GROUPED = {
    "hard": re.compile(
        r"\d{1,3}(?:(?:\{,\}|,\\!|\\,|\\ |~|\{\\,\}|\\:|\\;|'|_)\d{3})+(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?![\d.])"
    ),
    "space": re.compile(r"\d{1,3}(?: \d{3})+(?!\d)"),
    "comma": re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?!\d)"),
}
_SPACED_COMMA = re.compile(r"\d,\s+[-+\\\d]|;")
_ROW_GAP = re.compile(r"\s*\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm|in)\s*\]")
_NOT_DIGITS = re.compile(r"\D+")
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}", r"\{": r"\}"}, frozenset((")", "]", "}", r"\}"))
_TEXT_OPS = {"<=": r"\le", "=<": r"\le", ">=": r"\ge", "=>": r"\Rightarrow", "!=": r"\ne", "<>": r"\ne",
             "**": "^", "+/-": r"\pm", "->": r"\to"}  # fmt: skip


def brace_end(text: str, start: int) -> int:
    """Index after the brace that closes the one at `start`; raises Unreadable when there is none."""
    depth = 0
    position = start
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 2
            continue
        depth += (letter == "{") - (letter == "}")
        position += 1
        if depth == 0:
            return position
    raise Unreadable("unclosed brace")


class _Lexer:
    def __init__(self, text: str, group_commas: bool) -> None:
        self.text = text
        self.group_commas = group_commas
        self.tokens: list[Token] = []
        self.position = 0
        self.spaced = False
        self.depth = 0
        self.mixed = bool(_SPACED_COMMA.search(text))
        self.euler = bool(_FREE_E.search(text))

    def add(self, kind: str, value: str) -> None:
        self.tokens.append(Token(kind, value, self.spaced))
        self.spaced = False

    def run(self) -> list[Token]:
        text, length = self.text, len(self.text)
        while self.position < length:
            match = _MASTER.match(text, self.position)
            if match is None:
                raise Unreadable(f"character {text[self.position]!r}")
            kind, value = match.lastgroup, match.group()
            self.position = match.end()
            if kind == "space":
                self.spaced = True
            elif kind == "num":
                self.number(match.start(), value)
            elif kind in ("command", "escape"):
                self.command(value)
            elif kind == "letters":
                self.letters(value)
            elif kind == "hex":
                self.add("hex", value[1:].upper())
            else:
                self.mark(_TEXT_OPS.get(value, value))
        return self.tokens

    def number(self, start: int, value: str) -> None:
        after_digit = self.tokens and self.tokens[-1].kind == "num" and not self.spaced
        # (1,234) is a pair, (1,000, 2,000) a pair of thousands
        grouped = self.group_commas and (self.depth == 0 or self.mixed)
        names = ("hard", "space", "comma") if grouped else ("hard", "space")
        for name in names if not after_digit else ():
            match = _GROUPED[name].match(self.text, start)
            if match:
                tail = re.compile(r"\.\d+").match(self.text, match.end())
                value = _NOT_DIGITS.sub("", match.group()) + (tail.group() if tail else "")
                self.position = tail.end() if tail else match.end()
                break
        self.add("num", value)
        exponent = _EXPONENT.match(self.text, self.position)
        if exponent and self.euler and exponent.group()[1] in "+-":
            exponent = None
        if exponent and not (len(self.tokens) > 1 and self.tokens[-2].value in (r"\frac", r"\sqrt", r"\binom")):
            self.tokens[-1] = self.tokens[-1]._replace(value=value + exponent.group())
            self.position = exponent.end()
            return
        times = _TIMES.match(self.text, self.position)
        if times:
            self.add("op", "*")
            self.position = times.end()

    def letters(self, value: str) -> None:
        self.add("letter" if len(value) == 1 else "word", value)

    def command(self, value: str) -> None:
        if value == r"\$":
            self.add("text", "dollar")
            return
        if value in (r"\(", r"\)"):
            self.spaced = True
            return
        value = SYNONYMS.get(value, value)
        if value in DROPPED:
            # \left. and \right. stand for no bracket
            if value in (r"\left", r"\right") and self.text.startswith(".", self.position):
                self.position += 1
                self.add("open" if value == r"\left" else "close", ".")
            return
        if value in (r"\begin", r"\end"):
            self.environment(value)
            return
        if value == "\\\\" and (gap := _ROW_GAP.match(self.text, self.position)):
            self.position = gap.end()
        if value in TEXT_COMMANDS:
            self.textual(value)
        elif value in STYLED_COMMANDS:
            self.styled(value)
        elif value in SKIPPED_WITH_ARGUMENT or value in COLOURS:
            if self.skip_spaces_to("{"):
                self.position = brace_end(self.text, self.position)
        elif value in ("\\mathbb", "\\mathcal", "\\mathscr", "\\mathfrak"):
            self.add("command", value + "{" + self.raw_argument() + "}")
        elif value.startswith("\\mathbb{") or (value.startswith("\\") and value not in (r"\{", r"\}")):
            self.add("command", value)
        else:
            self.mark(value)

    def environment(self, value: str) -> None:
        r"""\begin{pmatrix} opens a bracket, \end{pmatrix} closes it; the columns of an array are skipped."""
        name = self.raw_argument().rstrip("*")
        if value == r"\end":
            self.add("close", r"\end")
            return
        self.add("open", rf"\begin{{{name}}}")
        if name in ("array", "tabular") and self.skip_spaces_to("{"):
            self.position = brace_end(self.text, self.position)

    def skip_spaces_to(self, mark: str) -> bool:
        position = self.position
        while position < len(self.text) and self.text[position] in " \t\n":
            position += 1
        if self.text.startswith(mark, position):
            self.position = position
            return True
        return False

    def raw_argument(self) -> str:
        if self.skip_spaces_to("{"):
            end = brace_end(self.text, self.position)
            inner = self.text[self.position + 1 : end - 1]
            self.position = end
            return inner.strip()
        self.position += len(self.text[self.position :]) - len(self.text[self.position :].lstrip(" "))
        inner = self.text[self.position : self.position + 1]
        self.position += 1
        return inner

    def textual(self, value: str) -> None:
        if value == r"\operatorname" and self.text.startswith("*", self.position):
            self.position += 1
        if not self.skip_spaces_to("{"):
            return
        inner = self.raw_argument()
        if inner:
            self.inline(inner)

    def styled(self, value: str) -> None:
        r"""\textbf{(B)} is read as text when letters dominate, \mathbf{12} as if the command were absent."""
        if not self.skip_spaces_to("{"):
            return
        if value in (r"\textbf", r"\textit", r"\emph", r"\textup"):
            inner = self.raw_argument()
            if inner:
                self.inline(inner)

    def inline(self, inner: str) -> None:
        """The content of a text command: words stay whole (`text`), numbers and marks become ordinary tokens."""
        spaced = self.spaced
        if inner.replace(" ", "").isalpha():
            self.add("text", " ".join(inner.split()))
            return
        for place, token in enumerate(tokenise(inner, group_commas=self.group_commas)):
            kind = "text" if token.kind in ("letter", "word") else token.kind
            self.tokens.append(Token(kind, token.value, token.spaced or (place == 0 and spaced)))
        self.spaced = False

    def mark(self, value: str) -> None:
        if value in _OPEN:
            self.depth += value != "{"
            self.add("open", value)
        elif value in _CLOSE:
            self.depth -= value != "}"
            self.add("close", value)
        elif value.startswith("..."):
            self.add("command", r"\ldots")
        elif value.startswith("\\"):
            self.add("command", value)
        elif value.isalpha():
            self.letters(value)
        elif value != "$":
            self.add("op", value)


def tokenise(text: str, *, group_commas: bool = True) -> list[Token]:
    """Raises TooComplex above MAX_CHARS characters, Unreadable for a character outside the grammar."""
    if len(text) > MAX_CHARS:
        raise TooComplex("too many characters")
    return _Lexer(text, group_commas).run()


def without_doubled_braces(text: str) -> str:
    """{{{3}}} -> {3}, in linear time, so that redundant pairs cost no depth."""
    if "{{" not in text:
        return text
    partner: dict[int, int] = {}
    stack: list[int] = []
    position = 0
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 2
            continue
        if letter == "{":
            stack.append(position)
        elif letter == "}" and stack:
            partner[stack.pop()] = position
        position += 1
    dropped: set[int] = set()
    for start, end in partner.items():
        if partner.get(start + 1) == end - 1:
            dropped |= {start, end}
    return "".join(letter for place, letter in enumerate(text) if place not in dropped)


def closing_places(tokens: list[Token]) -> dict[int, int]:
    """Index of every opening bracket to that of its closing one, types ignored ([0,1) is a pair).

    Raises Unreadable when they do not balance."""
    places: dict[int, int] = {}
    stack: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind == "open":
            stack.append(place)
        elif token.kind == "close":
            if not stack:
                raise Unreadable("closing bracket without an opening one")
            places[stack.pop()] = place
    if stack:
        raise Unreadable("opening bracket without a closing one")
    return places
