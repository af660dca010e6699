"""Text that somebody else wrote as one field of a judge's prompt, from which it cannot get out.

A field is one line without invisible characters, control tokens of chat templates, role labels, triple marks and
anything that opens a tag, so that a prompt has the same structure whatever stands in its fields.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

MAX_ANSWER = 400
"""Characters of an extracted answer; what is longer is no answer that a judge is asked about."""
MAX_GOLD = 400
MAX_ALIASES = 200
"""Characters of several accepted answers together, beyond which the others are left out."""
MAX_QUESTION = 2_000
MAX_RESPONSE = 2_000
"""Characters of a response that a rubric is held against."""

_FULL_WIDTH = {0xFF01 + step: 0x21 + step for step in range(94)} | {0xFE64: "<", 0xFE65: ">", 0xFF5F: "(", 0xFF60: ")"}
"""Full-width ASCII: some tokenizers fold it, and a control token would be made of it after we looked."""
_CONTROL = re.compile(
    r"<\s?\|[^<>|]{0,60}\|\s?>"
    r"|<\s?/?\s?(?:s|bos|eos|pad|unk|mask|cls|sep|start_of_turn|end_of_turn|start_of_image|think|thinking|answer"
    r"|system|user|assistant|human|tool|tools|tool_call|tool_response|function|im_start|im_end)\s?/?\s?>"
    r"|<\s?<\s?/?SYS\s?>\s?>|<(?:unused|extra_id_|reserved_)\w{0,20}>|◁/?think▷"
    r"|\[\s?/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|BOS|EOS|PAD|UNK|CLS|SEP"
    r"|MASK|gMASK|sMASK|THINK|CORRECT|INCORRECT)\s?\]",
    re.I,
)
"""Control tokens of the chat templates in use, closed or with blanks inside."""
_TAG = re.compile(r"<(?=[A-Za-z/!?|<\[_%])")
_RUN = re.compile(r"([=*_~-])\1{2,}|##+")
_ROLE = re.compile(
    r"\b(user|assistant|system|human|developer|tool|judge?ment|final (?:decision|judge?ment)|(?:ground truth|student"
    r"|correct|standard) answer|output sentence)[\s:]*:",
    re.I,
)
_MOST_ROUNDS = 16
"""Tokens nested in one another beyond which every opening mark goes: thousands of levels would take minutes."""
_NO_OPENERS = str.maketrans("<[◁", "   ")
_QUOTES = str.maketrans({'"': "'", "`": "'", "“": "'", "”": "'", "„": "'", "«": "'", "»": "'"})


def field(text: str, limit: int) -> str:
    """At most `limit` characters on one line. The same again for what it returns. Never raises."""
    cleaned = text[: 8 * limit]
    rounds = 0
    while (again := _clean(cleaned)) != cleaned:  # a token that stands in another one appears when that one goes
        rounds += 1
        cleaned = again if rounds < _MOST_ROUNDS else again.translate(_NO_OPENERS)
    if len(cleaned) <= limit:
        return cleaned
    return cleaned[: limit - 1].rstrip() + "…"


def _clean(text: str) -> str:
    text = "".join(character for character in text.translate(_FULL_WIDTH) if _visible(character))
    text = _CONTROL.sub(" ", " ".join(text.split()).translate(_QUOTES))
    text = _ROLE.sub(r"\1", _RUN.sub(_two, text))
    return " ".join(_TAG.sub("< ", text).split())


def _two(match: re.Match[str]) -> str:
    """A run of marks is cut to two, or to one where two already open a heading."""
    return "#" if match.group().startswith("#") else match.group()[:2]


def _visible(character: str) -> bool:
    """Whitespace, and what prints: no control, format, surrogate, private or unassigned characters."""
    return character.isspace() or not unicodedata.category(character).startswith("C")


def gold_field(golds: Sequence[str]) -> str:
    """The accepted answers as one field, as many whole ones as fit."""
    shown = ""
    for gold in dict.fromkeys(field(gold, MAX_GOLD) for gold in golds):
        joined = f"{shown} or {gold}" if shown else gold
        if shown and len(joined) > MAX_ALIASES:
            break
        shown = joined
    return shown


_LAYOUT = re.compile(
    r"\\(?:q?quad|[lcvd]?dots[cbmio]?|text\w*|math\w+|boxed|left|right|[hv]?phantom|[hv]space|displaystyle|[dt]?frac|sqrt"
    r"|sum|prod|int|lim|cdot|times|div|pm|mp|to|ne|neq|approx|equiv|sim|circ|star|ast|bullet|over(?:line|set)?"
    r"|under(?:line|set)?|hat|bar|vec|big\w*|limits|not|neg|in|forall|exists|therefore|because)(?![A-Za-z])"
)
"""Commands that are no answer by themselves, unlike \\pi and \\emptyset."""
_CODE = re.compile(
    r"(?<![\\\w])(?:print|eval|exec|range|len|sum|max|min|open|input|type|ord|str|float|int|sympify|Symbol|Integer"
    r"|Fraction|system)\s?[({\[]|\b(?:import|return|assert|raise|lambda|def)\s+\w"
    r"|__\w+__|\bDROP\s+TABLE\b|;\s*--|\$\(|\\(?:input|write|def|catcode|csname|immediate)\b|\b\w+\.\w+\("
    r"|\bfor\s+\w+\s+in\b|\bif\s+\w+\s+else\b|=>|\{\s*['\"]\w+['\"]\s*:|['\"]\s*or\s*['\"]",
    re.I,
)
_TEMPLATE = re.compile(
    r"\$\{|(?<![\\\w}])\{\{\s*[a-z_][\w.]{2,}\s*\}\}|<%|\{%|\{#|%[sd]\b|</?[a-z]{1,12}[\s>/]|<!--"
    r"|\[(?:your|insert|answer|number|result)[^\]]*\]|\b(?:todo|tbd|xxx|your answer|n/a)\b",
    re.I,
)
_OPENER = re.compile(
    r"\W*(?:(?:thought|thinking) process|reasoning(?: process)?|solution|(?:the )?(?:final )?answer(?: is)?|response"
    r"|result|conclusion|explanation|analysis|step \d+|step by step|sure|okay|ok|well|alright|certainly|of course"
    r"|here(?:'s| is) (?:the|my) \w+|let(?:'s| us| me)\b.*"
    r"|(?:to|we|i)\b.{0,30}\b(?:solve|answer|begin|start|need to|will|think)\b.*"
    r"|as (?:the|stated|shown|computed|given|above)\b.*|(?:see|same as|equal to|identical to)\b.*"
    r"|(?:the |it is )?(?:correct|right|true|expected|reference|standard) (?:answer|one|value|option)"
    r"|(?:the |it is )(?:correct|right)|expected|reference|ground.?truth"
    r"|解|解答|答案|思考过程|解题过程|让我们.*|かいせつ|respuesta|solución|réponse|lösung|antwort)\W*",
    re.I | re.S,
)
"""Openings of a solution that earn rewards from general judges (arXiv:2507.08794), and talk about an answer."""
_ADDRESSED = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,60}\b(?:instructions?|prompts?|reference|above|previous)\b"
    r"|\b(?:grader|evaluator|ground.?truth|(?:reference|standard|student'?s?) answer|test mode|final decision)\b"
    r"|\bjudge?ment\b"
    r"|\b(?:reply|respond|output|answer) (?:with )?[\"'\[]?(?:A|B|yes|correct)\b|\bverified as (?:correct|right)\b",
    re.I | re.S,
)
"""Words to whoever grades."""


def emptiness(answer: str) -> str:
    """Why a text is no answer that a judge should be asked about: symbols, code, template, opener, injection, length;
    "" if it is one. Cheap marks of the known attacks, so that they reach no judge, whatever it would say."""
    if len(answer) > MAX_ANSWER:
        return "length"
    shown = field(answer, MAX_ANSWER)
    if not any(character.isalnum() for character in _LAYOUT.sub("", shown)):
        return "symbols"
    if _TEMPLATE.search(answer) or _CONTROL.search(answer):
        return "template"
    if _CODE.search(answer):
        return "code"
    if _ADDRESSED.search(answer):
        return "injection"
    bare = re.sub(r"\\[A-Za-z]+|[{}$]", "", answer).strip()
    return "opener" if _OPENER.fullmatch(bare) or bare.endswith((":", "：")) else ""
