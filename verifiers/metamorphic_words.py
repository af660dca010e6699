"""Forms of answers that are words: choices, truth values, dates, times, weekdays, infinity, nothing, plain text."""

from __future__ import annotations

import random

from verifiers.metamorphic_draw import Draw

MONTHS = ("January", "February", "March", "April", "May", "June", "July",
          "August", "September", "October", "November", "December")  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LETTERS = "ABCDE"


def choice(source: random.Random) -> Draw:
    letter, other = source.sample(LETTERS, 2)
    return of_letter(letter, other, source.randrange(10, 500))


def of_letter(letter: str, other: str, value: int = 97531, gold: str | None = None) -> Draw:
    """value: what stands beside the letters in some forms."""
    equal = {
        "plain": letter, "parentheses": f"({letter})", "stop": f"{letter}.", "text": rf"\text{{{letter}}}",
        "text parentheses": rf"\text{{({letter})}}", "bold": rf"\textbf{{({letter})}}",
        "roman": rf"\mathrm{{{letter}}}", "half": f"{letter})", "option": rf"\text{{Option {letter}}}",
        "bold letter": rf"\mathbf{{{letter}}}", "bracket": f"[{letter}]", "choice": rf"\text{{Choice {letter}}}",
        "colon": f"{letter}:", "plain option": f"option {letter}", "answer": rf"\text{{Answer: {letter}}}",
        "roman parentheses": rf"\mathrm{{({letter})}}", "left right": rf"\left({letter}\right)",
        "bold text": rf"\textbf{{{letter}}}", "lower": letter.lower(),
        "option parentheses": rf"\text{{Option ({letter})}}", "sentence": rf"\text{{The answer is {letter}}}",
        "sentence parentheses": rf"\text{{The answer is ({letter}).}}", "text stop": rf"\text{{{letter}.}}",
        "wide": chr(ord(letter) + 0xFEE0), "wide parentheses": f"（{letter}）", "stars": f"**{letter}**",
    }  # fmt: skip
    if gold is None:
        equal |= {
            "value": rf"\text{{({letter}) }} {value}",
            "value after colon": rf"\text{{{letter}: }} {value}",
            "value after stop": rf"\text{{{letter}. }} {value}",
        }
    rest = [name for name in LETTERS if name not in (letter, other)]
    unequal = {
        "other": other, "other parentheses": f"({other})", "two": f"{letter}, {other}",
        "or": rf"\text{{{letter} or {other}}}", "other text": rf"\text{{{other}}}",
        "other value": rf"\text{{({other}) }} {value}", "number": str(value), "none": r"\text{none of these}",
        "pair": f"({letter}, {other})", "all": "A, B, C, D, E", "option": rf"\text{{Option {other}}}",
        "not": rf"\text{{not {letter}}}", "and": rf"\text{{{letter} and {other}}}", "slash": f"{letter}/{other}",
        "other bold": rf"\textbf{{({other})}}", "third": rest[0], "third parentheses": f"({rest[1]})",
        "two others": f"{rest[0]}, {rest[1]}", "all of them": r"\text{all of the above}", "other stop": f"{other}.",
        "sentence": rf"\text{{The answer is {other}}}", "joined": f"{letter}{other}",
        "both parentheses": rf"\text{{({letter}) or ({other})}}", "set": rf"\{{{letter}, {other}\}}",
        "lower other": other.lower(), "either": rf"\text{{either {letter} or {rest[0]}}}",
        "other wide": chr(ord(other) + 0xFEE0), "rest": f"{other}, {rest[0]}, {rest[1]}",
    }  # fmt: skip
    return Draw(gold=gold or letter, equal=equal, unequal=unequal)


def truth(source: random.Random) -> Draw:
    yes, word = source.random() < 0.5, source.randrange(2)
    return of_truth(yes, (("Yes", "True") if yes else ("No", "False"))[word])


def of_truth(yes: bool, gold: str) -> Draw:
    (word, same), (no, other) = (("Yes", "True"), ("No", "False"))[:: 1 if yes else -1]
    chinese, against = ("是", "否") if yes else ("否", "是")
    equal = {
        "word": word, "other word": same, "lower": word.lower(), "upper": same.upper(), "text": rf"\text{{{word}}}",
        "bold": rf"\textbf{{{same}}}", "stop": f"{word}.", "roman": rf"\mathrm{{{same}}}",
        "lower text": rf"\text{{{same.lower()}}}", "chinese": chinese, "upper word": word.upper(),
        "lower other": same.lower(), "bold word": rf"\textbf{{{word}}}", "stop other": f"{same}.",
        "emphasis": rf"\textit{{{word}}}", "sentence": rf"\text{{The statement is {same.lower()}.}}",
        "answer": rf"\text{{The answer is {word.lower()}}}", "italic": rf"\textit{{{same}}}", "stars": f"**{word}**",
        "exclamation": f"{word}!", "mathbf": rf"\mathbf{{{word}}}", "operator": rf"\operatorname{{{same}}}",
        "mbox": rf"\mbox{{{word}}}", "text stop": rf"\text{{{same}.}}", "it is": rf"\text{{It is {same.lower()}.}}",
        "typewriter": rf"\texttt{{{same}}}",
    }  # fmt: skip
    unequal = {
        "opposite": no, "opposite word": other, "opposite lower": no.lower(), "opposite text": rf"\text{{{other}}}",
        "two": rf"\text{{{word} or {no}}}", "not": rf"\text{{not {same.lower()}}}", "number": "7",
        "maybe": r"\text{maybe}", "unknown": r"\text{cannot be determined}", "letter": "x",
        "opposite bold": rf"\textbf{{{no}}}", "opposite upper": other.upper(), "opposite stop": f"{no}.",
        "opposite chinese": against, "opposite sentence": rf"\text{{The statement is {other.lower()}.}}",
        "opposite answer": rf"\text{{The answer is {no.lower()}}}", "both": rf"\text{{{same} and {other}}}",
        "slash": f"{word}/{no}", "sometimes": r"\text{sometimes}", "opposite roman": rf"\mathrm{{{other}}}",
        "empty set": r"\emptyset", "not stated": rf"\text{{The statement is not {same.lower()}.}}",
        "question": r"\text{?}", "neither": r"\text{neither}", "opposite italic": rf"\textit{{{no}}}",
        "comma": f"{same}, {other}", "it is": rf"\text{{It is {other.lower()}.}}", "some": r"\text{it depends}",
    }  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=unequal)


def ordinal(n: int) -> str:
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def date(source: random.Random) -> Draw:
    month, day, year = source.randrange(12), source.randrange(13, 28), source.randrange(1800, 2030)
    name, other, n = MONTHS[month], MONTHS[(month + source.randrange(1, 12)) % 12], month + 1
    nth, text = ordinal(day), f"{name} {day}, {year}"
    return Draw(
        gold=text,
        equal={
            "day first": f"{day} {name} {year}", "iso": f"{year}-{n:02d}-{day:02d}",
            "short": f"{name[:3]}. {day}, {year}", "ordinal": f"{name} {nth}, {year}", "text": rf"\text{{{text}}}",
            "of": f"the {nth} of {name}, {year}", "chinese": f"{year}年{n}月{day}日",
            "no comma": f"{name} {day} {year}",
            "lower": f"{name.lower()} {day}, {year}", "on": rf"\text{{on {text}}}",
            "ordinal first": f"{nth} {name} {year}", "short first": f"{day} {name[:3]} {year}",
            "short plain": f"{name[:3]} {day}, {year}", "upper": f"{name.upper()} {day}, {year}", "stop": f"{text}.",
            "text iso": rf"\text{{{year}-{n:02d}-{day:02d}}}", "bold": rf"\textbf{{{text}}}",
            "the": f"{name} the {nth}, {year}", "of plain": f"{nth} of {name} {year}",
            "text ordinal": rf"\text{{{name} {nth}, {year}}}", "slashes": f"{n:02d}/{day:02d}/{year}",
            "iso slashes": f"{year}/{n:02d}/{day:02d}", "mathematics": rf"\text{{{name} }} {day}, {year}",
            "sentence": rf"\text{{It was {text}.}}", "short text": rf"\text{{{name[:3]} {day}, {year}}}",
        },
        unequal={
            "day": f"{name} {day + 1}, {year}", "month": f"{other} {day}, {year}", "year": f"{name} {day}, {year + 1}",
            "year only": str(year), "difference": str(year - n - day), "iso day": f"{year}-{n:02d}-{day + 1:02d}",
            "month only": name, "two": rf"\text{{{text} or {other} {day}, {year}}}", "weekday": "Monday",
            "number": str(day), "month and day other year": f"{day} {name} {year - 1}",
            "day below": f"{name} {day - 1}, {year}", "century": f"{name} {day}, {year - 100}",
            "short month": f"{other[:3]}. {day}, {year}", "chinese day": f"{year}年{n}月{day - 1}日",
            "iso month": f"{year}-{n % 12 + 1:02d}-{day:02d}", "ordinal": f"{name} {ordinal(day + 1)}, {year}",
            "first": f"{name} 1, {year}", "day first off": f"{day + 1} {name} {year}", "clock": f"{n}:{day} PM",
            "sum": str(year + n + day), "range": rf"\text{{{name} {day}-{day + 1}, {year}}}",
            "iso year": f"{year + 10}-{n:02d}-{day:02d}", "other text": rf"\text{{{other} {nth}, {year}}}",
            "not": rf"\text{{not {text}}}", "month year": f"{other} {year}",
        },
    )  # fmt: skip


def clock(source: random.Random) -> Draw:
    hour, minute = source.randrange(1, 12), source.choice((5, 10, 20, 25, 35, 40, 50, 55))
    time, text = f"{hour}:{minute:02d}", f"{hour}:{minute:02d} PM"
    later = f"{hour}:{minute + 1:02d} PM"
    return Draw(
        gold=text,
        equal={
            "dots": f"{time} p.m.", "tight": f"{time}pm", "text": rf"{time} \text{{ PM}}",
            "military": f"{hour + 12}:{minute:02d}", "upper dots": f"{time} P.M.", "whole text": rf"\text{{{text}}}",
            "thin": rf"{hour}\!:\!{minute:02d} \text{{ PM}}", "open": time, "at": rf"\text{{at {time} pm}}",
            "afternoon": rf"\text{{{time} in the afternoon}}", "lower": f"{time} pm",
            "military text": rf"\text{{{hour + 12}:{minute:02d}}}", "roman": rf"{time}\ \mathrm{{PM}}",
            "tight upper": f"{time}PM", "bold": rf"\textbf{{{text}}}", "stop": f"{text}.",
            "zero": f"0{time} PM" if hour < 10 else text, "dots text": rf"{time} \text{{ p.m.}}",
            "evening": rf"\text{{{time} in the evening}}" if hour > 5 else f"{time} p. m.",
            "sentence": rf"\text{{It is {text}.}}", "thin space": rf"{time}\,\text{{PM}}",
            "tilde": rf"{time}~\text{{PM}}", "seconds": f"{hour + 12}:{minute:02d}:00", "mbox": rf"\mbox{{{text}}}",
            "wide": f"{hour}：{minute:02d} PM",
        },
        unequal={
            "morning": f"{time} AM", "minute": f"{hour}:{minute - 1:02d} PM", "hour": f"{hour + 1}:{minute:02d} PM",
            "wrong military": f"{hour + 11}:{minute:02d}", "number": str(hour),
            "swapped": f"{hour}:0{minute // 10 + 1} PM", "joined": f"{hour}{minute:02d}",
            "two": rf"\text{{{text} or {later}}}", "day": "Monday", "date": f"March {hour}, 2020",
            "morning dots": f"{time} a.m.", "later": later, "morning text": rf"\text{{{time} AM}}",
            "tight morning": f"{time}am", "military minute": f"{hour + 12}:{minute + 1:02d}",
            "hour before": f"{hour + 12 - 1}:{minute:02d}", "in the morning": rf"\text{{{time} in the morning}}",
            "noon": r"\text{noon}", "midnight": r"\text{midnight}", "hour only": f"{hour} PM",
            "minutes only": rf"{minute} \text{{ minutes}}", "tens of minutes": f"{hour}:{(minute + 30) % 60:02d} PM",
            "wrong open": f"{hour}:{minute + 1:02d}", "duration": rf"{hour} \text{{ hours}}",
            "range": rf"\text{{{text} to {later}}}", "not": rf"\text{{not {text}}}",
        },
    )  # fmt: skip


def weekday(source: random.Random) -> Draw:
    place = source.randrange(7)
    name, other = DAYS[place], DAYS[(place + source.randrange(1, 7)) % 7]
    number, against = "一二三四五六日"[place], "一二三四五六日"[DAYS.index(other)]
    return Draw(
        gold=name,
        equal={
            "lower": name.lower(), "short": name[:3], "text": rf"\text{{{name}}}", "on": rf"\text{{on {name}}}",
            "sentence": rf"\text{{It is a {name}.}}", "bold": rf"\textbf{{{name}}}", "chinese": f"星期{number}",
            "week": f"周{number}", "stop": f"{name}.", "upper": name.upper(), "roman": rf"\mathrm{{{name}}}",
            "short stop": f"{name[:3]}.", "text stop": rf"\text{{{name}.}}", "short text": rf"\text{{{name[:3]}}}",
            "a": rf"\text{{a {name}}}", "italic": rf"\textit{{{name}}}", "stars": f"**{name}**",
            "answer": rf"\text{{The answer is {name}}}", "mbox": rf"\mbox{{{name}}}",
            "lower text": rf"\text{{{name.lower()}}}", "old chinese": f"礼拜{number}",
            "falls": rf"\text{{It falls on a {name}}}", "mathbf": rf"\mathbf{{{name}}}",
            "operator": rf"\operatorname{{{name}}}",
        },
        unequal={
            "other": other, "short other": other[:3], "two": rf"\text{{{name} or {other}}}",
            "not": rf"\text{{not {other}}}", "number": str(place), "chinese other": f"星期{against}",
            "text other": rf"\text{{{other}}}", "month": "March", "word": "day", "and": rf"\text{{{other} and {name}}}",
            "other lower": other.lower(), "other stop": f"{other}.", "other upper": other.upper(),
            "not it": rf"\text{{not {name}}}", "sentence": rf"\text{{It is a {other}.}}", "other week": f"周{against}",
            "answer": rf"\text{{The answer is {other}}}", "other bold": rf"\textbf{{{other}}}",
            "comma": f"{name}, {other}", "every day": r"\text{every day}", "date": "March 5, 2020", "clock": "2:30 PM",
            "slash": f"{name}/{other}", "all": ", ".join(DAYS), "weekend": r"\text{a day of the week}",
            "other italic": rf"\textit{{{other}}}", "fraction": r"\frac{1}{7}",
        },
    )  # fmt: skip


def infinity(source: random.Random) -> Draw:
    n = source.randrange(2, 200)
    sign = source.choice(("", "-"))
    gold = rf"{sign}\infty"
    positive = not sign
    equal = {
        "plain": gold, "sign": f"{sign}∞", "brackets": rf"({gold})", "name": rf"x = {gold}",
        "limit": rf"\lim_{{x \to 0}} f(x) = {gold}",
        "text": rf"\text{{{'infinity' if positive else 'negative infinity'}}}",
        "word": "infinity" if positive else "-infinity", "left right": rf"\left({gold}\right)",
        "braces": rf"{sign}{{\infty}}", "spaced": rf"{sign} \infty",
        "capital": rf"\text{{{'Infinity' if positive else 'Negative infinity'}}}",
        "minus word": "positive infinity" if positive else "minus infinity", "bold": rf"\mathbf{{{gold}}}",
        "display": rf"\displaystyle {gold}", "stop": rf"{gold}.", "named limit": rf"L = {gold}",
        "boldsymbol": rf"\boldsymbol{{{gold}}}", "double negative": rf"-(-({gold}))", "plain name": f"y = {sign}∞",
        "signed sign": f"{sign or '+'}∞", "braced": rf"{{{gold}}}",
    }  # fmt: skip
    unequal = {
        "sign": r"-\infty" if positive else r"\infty", "other sign": "-∞" if positive else "∞",
        "huge": f"{sign}10^{{{n}}}", "number": f"{sign}{n}", "zero": "0", "nothing": r"\emptyset",
        "does not exist": r"\text{does not exist}", "plus minus": r"\pm \infty", "reals": r"\mathbb{R}",
        "line": r"(-\infty, \infty)", "inverse": rf"\frac{{1}}{{{gold}}}", "one": "1", "undefined": r"\text{undefined}",
        "no solution": r"\text{no solution}", "two": rf"{gold} \text{{ or }} {n}",
        "other word": "negative infinity" if positive else "positive infinity", "ray": rf"[{n}, \infty)",
        "bound": f"x > {n}", "variable": "x", "complex": rf"{gold} i",
        "other name": r"x = -\infty" if positive else r"x = \infty", "set": rf"\{{{n}, \infty\}}",
        "finite": r"\text{finite}", "nines": "9" * (n % 40 + 20), "pair": rf"({n}, \infty)",
        "other bracket": r"-(\infty)" if positive else r"-(-\infty)",
    }  # fmt: skip
    return Draw(gold=gold, equal=equal, unequal=unequal)


def nothing(source: random.Random) -> Draw:
    n = source.randrange(1, 60)
    return Draw(
        gold=source.choice((r"\emptyset", r"\text{no solution}", r"\varnothing")),
        equal={
            "empty set": r"\emptyset", "varnothing": r"\varnothing", "words": "no solution",
            "text": r"\text{no solution}", "plural": r"\text{no solutions}", "braces": r"\{\}",
            "spaced braces": r"\{ \}", "sentence": r"\text{There is no solution}", "sign": "∅",
            "real": r"\text{no real solutions}", "name": r"\text{the empty set}", "capital": r"\text{No Solution}",
            "stop": r"\text{No solution.}", "there are": r"\text{There are no solutions.}",
            "member": r"x \in \emptyset", "named": r"S = \emptyset", "real singular": r"\text{no real solution}",
            "plain capital": "No solution", "bold": r"\textbf{no solution}", "empty words": "empty set",
            "member of other": r"x \in \varnothing", "left right": r"\left\{\right\}",
            "named other": r"S = \varnothing", "equation": r"\text{The equation has no solution.}", "chinese": "无解",
            "brackets": r"(\emptyset)", "no roots": r"\text{no real roots}", "none": r"\text{none}",
        },
        unequal={
            "number": str(n), "zero": "0", "zero set": r"\{0\}", "set": rf"\{{{n}\}}", "reals": r"\mathbb{R}",
            "all": r"\text{all real numbers}", "equation": f"x = {n}", "infinite": r"\text{infinitely many solutions}",
            "one": r"\text{one solution}", "infinity": r"\infty", "interval": f"[0, {n}]",
            "either": rf"\text{{no solution or }} {n}", "pair": f"({n}, 0)", "set of it": r"\{\emptyset\}",
            "bound": f"x > {n}", "two": rf"\text{{{n} solutions}}", "variable": "x", "negative": f"-{n}",
            "unique": r"\text{a unique solution}", "ray": rf"[{n}, \infty)", "ok": r"\text{yes}",
            "union": rf"\emptyset \cup \{{{n}\}}", "list": f"{n}, {n + 1}", "fraction": rf"\frac{{1}}{{{n + 1}}}",
            "complement": r"\mathbb{R} \setminus \emptyset", "many": r"\text{many solutions}", "not": r"x \ne 0",
        },
    )  # fmt: skip


PAIRS = (
    ("increasing", "decreasing"), ("red", "blue"), ("odd", "even"), ("convex", "concave"),
    ("rational", "irrational"), ("acute", "obtuse"), ("circle", "ellipse"), ("north", "south"), ("Alice", "Carl"),
    ("prime", "composite"), ("square", "rhombus"), ("hydrogen", "oxygen"), ("Paris", "London"),
    ("parabola", "hyperbola"), ("Euler", "Gauss"),
)  # fmt: skip


def text(source: random.Random) -> Draw:
    word, other = source.choice(PAIRS)[:: source.choice((1, -1))]
    lower, capital = word.lower(), word.capitalize()
    return Draw(
        gold=source.choice((word, rf"\text{{{word}}}")),
        equal={
            "plain": word, "text": rf"\text{{{word}}}", "lower": lower, "capital": capital, "upper": word.upper(),
            "stop": f"{word}.", "bold": rf"\textbf{{{word}}}", "italic": rf"\textit{{{word}}}",
            "roman": rf"\mathrm{{{word}}}", "mbox": rf"\mbox{{{word}}}", "text stop": rf"\text{{{word}.}}",
            "mathbf": rf"\mathbf{{{word}}}", "stars": f"**{word}**", "capital text": rf"\text{{{capital}}}",
            "upper text": rf"\text{{{word.upper()}}}", "operator": rf"\operatorname{{{word}}}",
            "spaces": rf"\text{{ {word} }}", "typewriter": rf"\texttt{{{word}}}", "sans": rf"\textsf{{{word}}}",
            "nested": rf"\text{{\textbf{{{word}}}}}", "roman text": rf"\textrm{{{word}}}", "quotes": f'"{word}"',
            "tex quotes": rf"\text{{``{word}''}}", "old roman": rf"{{\rm {word}}}", "old bold": rf"{{\bf {word}}}",
            "curly quotes": f"“{word}”",
        },
        unequal={
            "other": other, "other text": rf"\text{{{other}}}", "other lower": other.lower(),
            "other capital": other.capitalize(), "other upper": other.upper(), "other stop": f"{other}.",
            "other bold": rf"\textbf{{{other}}}", "two": rf"\text{{{word} or {other}}}",
            "and": rf"\text{{{word} and {other}}}", "not": rf"\text{{not {word}}}", "number": "7",
            "comma": f"{word}, {other}", "slash": f"{word}/{other}", "letter": word[0].upper(), "cut": word[:-2],
            "doubled": f"{word}{word}", "reversed": word[::-1], "joined": f"{word}{other}",
            "no answer": r"\text{unknown}", "neither": rf"\text{{neither {word} nor {other}}}", "infinity": r"\infty",
            "equation": "x = 1", "other italic": rf"\textit{{{other}}}", "empty set": r"\emptyset", "un": f"non-{word}",
            "either": rf"\text{{either {word} or {other}}}",
        },
    )  # fmt: skip
