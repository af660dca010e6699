"""Response text to the text of its final answer, or the reason there is none. Linear time on bounded input.

Order: what follows the last closing thought tag; answer tag; last complete box (boxes that only commas, "and" and
their like separate form one answer of several parts); markers; last line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from verifiers.answer.arrivals import without_checks

MAX_TAIL = 64_000
"""Characters of the end of a response that are read; an answer stands at the end."""
MAX_ANSWER = 4_000
MAX_PARTS = 64
MAX_STATED = 120
_STATED = re.compile(r"^\W*(?:\$|\\\(|-?\d)")
"""An answer after a box starts with mathematics."""

_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|thoughts|reasoning)\s*>|<\|end_of_thought\|>|◁/think▷", re.I)
_THOUGHT_START = re.compile(r"<(?:think|thinking|thought|thoughts|reasoning)\s*>|<\|begin_of_thought\|>|◁think▷", re.I)
_ANSWER_START = re.compile(r"<(?:final[_-]?)?answer\s*>|<\|begin_of_solution\|>", re.I)
_ANSWER_END = re.compile(r"</(?:final[_-]?)?answer\s*>|<\|end_of_solution\|>", re.I)
_END_TOKENS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|endoftext|end_of_text|eot_id|end|eos)\|>|</s>|<eos>|<end_of_turn>))+\s*$"
)
"""What a sampler that does not skip special tokens leaves at the end."""
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])\s{0,4}|\bboxed(?=\{)")
_SCRIPT = re.compile(r"[_^](?:\d|\\circ(?![A-Za-z])|\{[^{}]{1,20}\})")
"""A subscript or exponent behind a box belongs to the answer: a base, a degree mark."""
_BARE_BOX = re.compile(r"-?[\d.,]*\d|[A-Za-z](?![A-Za-z])|\\[A-Za-z]+(?:\{[^{}\n]{1,40}\}){0,2}")
_CONNECTORS = re.compile(
    r"(?:[\s,;$&]|\\[,;:! ()\[\]]|\\q?quad|\\\\|\\text\s?\{[\s,]{0,3}(?:and|or)?[\s,]{0,3}\}|and|or|以及|和|或|、|，)*",
)
_NEAR = re.compile(r"[^.!?。？！\n\\{}]{0,30}")
_CONCLUSION = re.compile(
    r"\b(?:so|thus|hence|then|therefore|answer|gives?|which|becomes|but|not|however|actually|instead|rather|correct\w*"
    r"|wait|should|really|finally|final)\b",
    re.I,
)
_NEGATED = re.compile(
    r"\b(?:not|rather than|instead of|isn't|never"
    r"|(?:any\w*|everything|all) but|except|other than|besides)[\s$({\[\\]*$",
    re.I,
)
"""13, not 12: a box that is denied."""
_MARKER = re.compile(
    r"(?P<hashes>^\s{0,3}####+\s*(?!#))|(?P<short>^[ \t*]{0,4}A[ \t*]{0,3}[:：](?=.*\S))"
    r"|(?P<answer>(?:\bfinal\s+answer|\banswers?|\b(?:final|correct)\s+(?:result|option|choice)|\bcorrect\s+one)\b"
    r"[\s*_:：=`'\"）)]{0,12}(?:(?:to|for|of)\s[^.\n:]{0,80}?\s)?"
    r"(?P<link>(?:is|are|was|be|equals?)\b|[:：]|(?<!=)=(?!=)|(?=\\\[|\\\(|\$))"
    r"|(?:\bfinal |^\W{0,4})answer\s[-–—→](?=\s)|\b(?:respuesta|réponse|antwort|risposta|resposta|ответ)(?: final)?"
    r"(?:\s?[:=]|\s(?:es|est|ist|è|é)\b)|答え(?:は|[:：])|^[ \t*]{0,4}ans\s?[.:]|^\s{0,3}答\s?[:：]"
    r"|(?:最终|正确)?(?:答案|结果)(?:应该|应)?(?P<cn>是|为|：|:)"
    r"|(?<![挑筛])(?:故|应|所以|因此)选(?:择)?)"
    r"[\s*_:：=]{0,8}",
    re.I | re.M,
)
_SUPPOSED = re.compile(r"\b(?:suppos\w+|assum\w+|imagin\w+|doubt(?:s|ed|ful)?|pretend)\b[^.!?\n]*\Z", re.I)
_SENTENCE_END = re.compile(r"(?<=[^\s.])[.!](?=\s+(?:[A-Z\"'(I]|$))|[。！](?=.)|(?<=[^\s.])\.(?=\s*$)", re.S)
_TEMPLATE = re.compile(r"\$\{|\{\{(?![^{}]*\},\s*\{)|<%|#\{|\{%")
"""A template expression that nobody has filled in."""
_EMPTY_LINE = re.compile(r"^[\s*_`#:.\-]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: the final answer, None when there is none, and `reason` then says why (no-answer, truncated, empty-box).

    source: tag, box, boxes, marker, line or whole; a `line` or `whole` may be a sentence around the answer.
    parts: the contents of all boxes, where there are several: a question with as many parts may have been answered so.
    """

    text: str | None
    source: str
    reason: str = ""
    parts: tuple[str, ...] = ()


def _none(reason: str, source: str = "whole") -> Answer:
    return Answer(text=None, source=source, reason=reason)


def after_thoughts(response: str) -> str | None:
    """What follows the last closing thought tag; None when a thought is left open."""
    end = 0
    for match in _THOUGHT_END.finditer(response):
        end = match.end()
    rest = response[end:]
    return None if _THOUGHT_START.search(rest) else rest


def final_answer(response: str) -> Answer:
    """The final answer of a whole response."""
    text = after_thoughts(response)
    if text is None:
        return _none("truncated", "thought")
    if not text.strip():
        return _none("no-answer")
    text = _without_hidden(text[-MAX_TAIL:])
    if text.rstrip().endswith(">"):
        text = _END_TOKENS.sub("", text)
    tagged = _tagged(text)
    if tagged is not None:
        inner = tagged.strip()
        if not inner:
            return _none("no-answer", "tag")
        found = boxed(inner)
        return found if found is not None else _in_text(inner, "tag")
    found = _boxes(text)
    boxes = _asserted(text, found)
    if found and not boxes:
        return _none("no-answer", "box")
    text = text[: boxes[-1][1]] if len(boxes) < len(found) else text
    box = _joined(text, boxes)
    if box is None or not box.text:
        return box or _in_text(text, "whole")
    return _stated_after(text[boxes[-1][1] :]) or box


def _stated_after(rest: str) -> Answer | None:
    """An answer that a marker announces after the last box: the last explicit answer wins."""
    last = None
    for match in _MARKER.finditer(rest) if "inal " in rest or "答案" in rest or "结果" in rest else ():
        last = match if "final" in match.group().lower() or match.group("cn") else last
    found = _after_marker(rest[last.end() :]) if last is not None else None
    if not found or len(found) > MAX_STATED or not _STATED.search(found):
        return None
    return Answer(text=found, source="marker")


_HIDDEN = re.compile(
    r"<!--|(?:(?<=\s)|^)~~(?=\S)|\\[hv]?phantom\s?\{|\\(?:[bx]?cancel|sout)\s?\{"
    r"|(?:(?<=[^\d\s]\s)|^)%(?=\s[^\n]*\\boxed)",
    re.M,
)
_CLOSING = {"<!--": "-->", "~~": "~~", "%": "\n"}


def _without_hidden(text: str) -> str:
    """Without boxes that nobody sees or that were struck out: comments, phantoms, crossed-out text."""
    if not any(mark in text for mark in ("<!--", " ~~", "\n~~", "phantom", "cancel{", "sout{", " % ", "\n% ")):
        return text
    parts: list[str] = []
    position = 0
    while (match := _HIDDEN.search(text, position)) is not None:
        if match.group().endswith("{"):
            end = _brace_end(text, match.end() - 1) or len(text)
        else:
            closing = _CLOSING[match.group()]
            found = text.find(closing, match.end())
            end = found + len(closing) if found >= 0 else match.end() if closing == "~~" else len(text)
        hidden = text[match.start() : end]
        shown = "boxed" not in hidden and match.group() not in ("<!--", "~~")
        parts += [text[position : match.start()], hidden if shown else " "]
        position = end
    return "".join((*parts, text[position:]))


def _tagged(text: str) -> str | None:
    """The content of the last answer tag; a tag that the sampler's stop string left open ends with the text."""
    start = None
    for match in _ANSWER_START.finditer(text):
        start = match.end()
    if start is None:
        return None
    end = _ANSWER_END.search(text, start)
    return text[start : end.start()] if end else text[start:]


def boxed(text: str) -> Answer | None:
    """The last box with its neighbours; None when the text holds no box."""
    return _joined(text, _asserted(text, _boxes(text)))


def _asserted(text: str, boxes: list[tuple[int, int, str | None]]) -> list[tuple[int, int, str | None]]:
    """Without boxes at the end that are denied: 13, not 12."""
    while boxes and _NEGATED.search(text[max(0, boxes[-1][0] - 40) : boxes[-1][0]]):
        boxes = boxes[:-1]
    return boxes


def _joined(text: str, boxes: list[tuple[int, int, str | None]]) -> Answer | None:
    if not boxes:
        return None
    start, _, content = boxes[-1]
    if content is None:
        return _none("truncated", "box")
    if not content.strip():
        return _none("empty-box", "box")
    parts = [_unboxed(content)]
    for left in reversed(boxes[-MAX_PARTS:-1]):
        if left[2] is None or not left[2].strip() or not _neighbours(text[left[1] : start]):
            break
        parts.append(left[2])
        start = left[0]
    parts.reverse()
    every = tuple((found or "").strip() for _, _, found in boxes) if 1 < len(boxes) <= MAX_PARTS else ()
    if len(parts) == 1:
        script = _SCRIPT.match(text, boxes[-1][1])
        return Answer(text=parts[0].strip() + (script.group() if script else ""), source="box", parts=every)
    return Answer(text=" ; ".join(part.strip() for part in parts), source="boxes", parts=every)


def _unboxed(content: str) -> str:
    """A box inside a box and nothing else."""
    while (match := _BOX.match(content.strip())) and content.strip().startswith("{", match.end()):
        inner = content.strip()
        if _brace_end(inner, match.end()) != len(inner):
            break
        content = inner[match.end() + 1 : -1]
    return content


def _boxes(text: str) -> list[tuple[int, int, str | None]]:
    """(start, end, content) of the outermost boxes; content None when a brace is left open, "" for a bare mention."""
    found: list[tuple[int, int, str | None]] = []
    position = 0
    while True:
        match = _BOX.search(text, position)
        if match is None:
            return found
        inner = match.end()
        if text.startswith("{", inner):
            end = _brace_end(text, inner)
            if end is None:
                found.append((match.start(), len(text), None))
                return found
            found.append((match.start(), end, text[inner + 1 : end - 1]))
            position = end
            continue
        bare = _BARE_BOX.match(text, inner)
        if bare and match.end() > match.start() and "\n" not in match.group():
            found.append((match.start(), bare.end(), bare.group()))
        position = bare.end() if bare else inner


def _brace_end(text: str, start: int) -> int | None:
    depth = 0
    for match in _BRACES.finditer(text, start):
        mark = match.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return None


_BRACES = re.compile(r"\\[^A-Za-z]|[{}]")


def _neighbours(gap: str) -> bool:
    if len(gap) > 60:
        return False
    if _CONNECTORS.fullmatch(gap):
        return True
    words = gap.replace("$", "").strip()
    near = bool(_NEAR.fullmatch(words)) and not _CONCLUSION.search(words)
    return near and (" and " in f" {words} " or " or " in f" {words} " or words.startswith(","))


def _in_text(text: str, source: str) -> Answer:
    """Markers, then the last line that says something."""
    last = None
    for match in _MARKER.finditer(text):
        last = match if not _SUPPOSED.search(text, max(0, match.start() - 60), match.start()) else last
    if last is not None:
        found = _after_marker(text[last.end() :])
        if found:
            return Answer(text=found, source="marker")
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if not _EMPTY_LINE.match(line)]
    if not lines:
        return _none("no-answer", source)
    lines = without_checks(lines)
    joined = _bulleted(lines) or _display(lines)
    if _TEMPLATE.match(joined):
        return _none("no-answer", source)
    if len(joined) > MAX_ANSWER:
        return _none("no-answer", "line")
    return Answer(text=joined, source=source if source == "tag" else "line" if len(lines) > 1 else "whole")


_BULLET = re.compile(r"[-*•]\s+(\$?(?:[A-Za-z]\s?=\s?)?[^=A-Za-z]{1,40})")


def _bulleted(lines: list[str]) -> str | None:
    """The values of a list at the end, where every bullet holds nothing else."""
    values: list[str] = []
    for line in reversed(lines[-MAX_PARTS:]):
        found = _BULLET.fullmatch(line)
        if found is None:
            break
        values.append(found.group(1).replace("$", "").strip())
    return ", ".join(reversed(values)) if len(values) > 1 else None


def _display(lines: list[str]) -> str:
    """The last line, or the display that it closes."""
    if lines[-1] in (r"\]", "$$", r"\)") and len(lines) > 1:
        return " ".join(lines[-3:]) if len(lines) > 2 else " ".join(lines)
    return lines[-1]


def _after_marker(rest: str) -> str | None:
    """The rest of the marker's line, or the next line that says something, without what follows the first sentence."""
    stripped = rest.lstrip(" \t\n*_:")
    for opening, closing in ((r"\[", r"\]"), ("$$", "$$"), (r"\(", r"\)")):
        if stripped.startswith(opening):
            end = stripped.find(closing, len(opening))
            if 0 < end <= MAX_ANSWER:
                return stripped[len(opening) : end].strip() or None
    for line in rest[: MAX_ANSWER * 2].splitlines():
        if not _EMPTY_LINE.match(line):
            return _balanced(first_sentence(line.strip(" \t*_:"))) or None
    return None


def _balanced(text: str) -> str:
    """Without the closing brackets of a text command or of a remark that began before the marker."""
    while text and text.count("}") > text.count("{"):
        text = text[1:] if text.startswith("}") else text[::-1].replace("}", "", 1)[::-1]
    if text.endswith((")", "]")) and "(" not in text and "[" not in text and text[0] not in ")]":
        text = text[:-1]
    return text.removesuffix("です").strip()


def first_sentence(line: str) -> str:
    match = _SENTENCE_END.search(line)
    return line[: match.start()].strip() if match else line.strip()
