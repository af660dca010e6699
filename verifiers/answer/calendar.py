"""Weekdays, months, dates and times of day: every mention in a text, in one canonical form."""

from __future__ import annotations

import re

from verifiers.answer.wordlists import cardinal, han

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SHORT = {"tues": "tuesday", "weds": "wednesday", "thur": "thursday", "thurs": "thursday", "sept": "september"}
_DAY_NAMES = {name: name for name in _WEEKDAYS} | {name[:3]: name for name in _WEEKDAYS} | _SHORT
_MONTH_NAMES = {name: place for place, name in enumerate(_MONTHS, start=1)}
_MONTH_NAMES |= {name[:3]: place for name, place in _MONTH_NAMES.items()} | {"sept": 9}
_HAN_DAYS = dict(zip("一二三四五六日", _WEEKDAYS, strict=True)) | {"天": "sunday"}
_HAN_DAY = re.compile(r"(?:星期|周|礼拜)([一二三四五六日天])")
_HAN_MONTH = re.compile(r"(?<!\d)(\d{1,2})\s?月(?:份)?(?!\s?\d)")
_NAME = r"(?P<month>[a-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_NAME}\s+(?:the\s+)?{_DAY}(?:\s*,?\s+{_YEAR}|\s*,\s*{_YEAR.replace('year', 'year2')})?(?![\d:])",
        rf"\b{_DAY}\s+(?:of\s+)?{_NAME}(?:\s*,?\s*{_YEAR})?(?!\d)",
        r"\b(?P<year>\d{4})\s?[-/.]\s?(?P<number>\d{1,2})\s?[-/.]\s?(?P<day>\d{1,2})(?!\d)",
        r"\b(?P<number>\d{1,2})\s?/\s?(?P<day>\d{1,2})\s?/\s?(?P<year>\d{4})(?!\d)",
        r"(?<![\d.])(?P<day>\d{1,2})\.\s?(?P<number>\d{1,2})\.\s?(?P<year>\d{4})(?![\d.])",
        r"(?:(?P<year>\d{4})\s?年\s?)?(?<!\d)(?P<number>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?[日号]",
    )
)
_CLOCK = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2})\s?(?::\s?(?P<minute>\d{2})(?::(?P<second>\d{2}))?)?"
    r"\s?(?P<half>[ap]\.?\s?m\b\.?|noon|midnight|o'?\s?clock)?(?![\d:])"
)
_HOURS = re.compile(r"(?<=\d)h(?=[0-5]\d(?!\d|\s?m))")
"""14h30"""
_HAN_NUMBER = re.compile(
    r"(?<![一-龥])[一二两三四五六七八九十]{1,3}(?=[点时月日号分])|(?<=[午上月点])[一二三四五六七八九十]{1,3}(?=[点日号分])|两(?=点)"
)
_DOTTED = re.compile(r"\b(\d{1,2})\.(\d{2})(?=\s?[ap]\.?\s?m\b)")
_TIME_WORDS = {"noon": 720, "midday": 720, "midnight": 0, "正午": 720, "午夜": 0}
_PAST = re.compile(
    r"\b(?P<part>half|quarter|(?:5|10|20|25|[a-z]+)(?![\w.])|(?:[a-z]+|\d{1,2})\s+minutes?)\s+(?P<side>past|to|after|before)\s+(?P<hour>[a-z]+|\d{1,2})\b"
)
_OF_DAY = re.compile(r"\b(?:in the\s+)?(morning|afternoon|evening|night)\b")
_HAN_CLOCK = re.compile(
    r"(?P<part>上午|下午|晚上|早上|中午)?\s?(?P<hour>\d{1,2})\s?[点时]\s?(?:(?P<minute>\d{1,2})\s?分?|(?P<half>半))?"
)


def weekdays(text: str) -> frozenset[str]:
    """Canonical names of every weekday that is mentioned."""
    found = {_DAY_NAMES[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _DAY_NAMES}
    return frozenset(found | {_HAN_DAYS[letter] for letter in _HAN_DAY.findall(text)})


def months(text: str) -> frozenset[str]:
    found = {_MONTHS[_MONTH_NAMES[word] - 1] for word in re.findall(r"[a-z]+", text.lower()) if word in _MONTH_NAMES}
    numbered = {int(number) for number in _HAN_MONTH.findall(text)}
    return frozenset(found | {_MONTHS[number - 1] for number in numbered if 1 <= number <= 12})


def dates(text: str) -> frozenset[str]:
    """Every date as YYYY-MM-DD, or --MM-DD without a year."""
    lowered = _arabic(text.lower())
    found: set[str] = set()
    for pattern in _DATES:
        for match in pattern.finditer(lowered):
            groups = match.groupdict()
            month = int(groups["number"]) if groups.get("number") else _MONTH_NAMES.get(groups.get("month") or "", 0)
            year = groups.get("year") or groups.get("year2") or "-"
            day = int(groups["day"])
            if month > 12 >= day and "/" in match.group():
                month, day = day, month
            if 1 <= month <= 12 and 1 <= day <= 31:
                found.add(f"{year}-{month:02d}-{day:02d}")
    return frozenset(found)


def times(text: str) -> frozenset[str]:
    """Every time of day as HH:MM:SS on the 24-hour clock, with a trailing ? where am or pm was left open."""
    text = _arabic(text)
    lowered = _dotted(_HOURS.sub(":", text.lower()))
    found: set[str] = set()
    for match in _CLOCK.finditer(lowered):
        half, minute = match["half"], match["minute"]
        if half is None and minute is None:
            continue
        value = _clock(int(match["hour"]), int(minute or 0), half, _part_of_day(lowered))
        if value is not None:
            found.add(f"{value}:{match['second'] or '00'}" + ("?" if _open(match["hour"], half, lowered) else ""))
    for match in _PAST.finditer(lowered):
        hour, part = _small(match["hour"]), _minutes(match["part"])
        if hour is not None and part is not None and 1 <= hour <= 12 and part < 60:
            total = hour * 60 + (part if match["side"] in ("past", "after") else -part)
            value = _clock(total // 60, total % 60, None, _part_of_day(lowered))
            if value is not None:
                found.add(f"{value}:00" + ("?" if _part_of_day(lowered) is None else ""))
    for match in _HAN_CLOCK.finditer(text):
        half = {"下午": "pm", "晚上": "pm", "上午": "am", "早上": "am", "中午": "pm"}.get(match["part"] or "")
        value = _clock(int(match["hour"]), 30 if match["half"] else int(match["minute"] or 0), half, None)
        if value is not None:
            found.add(f"{value}:00" + ("?" if half is None and int(match["hour"]) <= 12 else ""))
    if not found:
        found |= {f"{minutes // 60:02d}:00:00" for word, minutes in _TIME_WORDS.items() if word in lowered}
    return frozenset(found)


_STRAY = re.compile(r"\d\s?[:/]\s?\d|[+*^=<>~]|\d\s?-|-\s?\d")
_SHIFTED = re.compile(r"\b(?:after|before|until|since|from|but|besides|other than|except|excluding)\b")
_BESIDE = re.compile(
    r"\b(?:after|before|until|till|since|about|around|near|nearly|almost|approximately|roughly|but|besides|than|except"
    r"|excluding|past)\s(?:the\s|for\s)?#"
)
"""Words that make another moment of the one after them."""


def lone(kind: str, text: str) -> bool:
    """Whether nothing but prose stands around the moments of a text: no sign before them, no arithmetic, no other
    clock or date, no "the day after", no "before" or "about"."""
    lowered = _dotted(_HOURS.sub(":", text.lower()))
    if kind not in ("date", "time"):
        return not _SHIFTED.search(lowered)
    for pattern in _DATES if kind == "date" else (_CLOCK,):
        lowered = pattern.sub(lambda match: match.group() if match.group().isdecimal() else "#", lowered)
    return not (_STRAY.search(lowered) or _BESIDE.search(lowered) or re.search(r"[-+~]#", lowered))


def is_clock(text: str) -> bool:
    """Whether a text is one time of day and nothing else: -9:14 is none."""
    return _CLOCK.fullmatch(_HOURS.sub(":", text.lower().strip(" ."))) is not None


def is_date(text: str) -> bool:
    """Whether a text is one date and nothing else: (2020-03-05)+1 is none."""
    bare = text.lower().strip(" .")
    return any(pattern.fullmatch(bare) for pattern in _DATES)


def _arabic(text: str) -> str:
    """两点半 as 2点半."""
    return _HAN_NUMBER.sub(lambda match: str(han(match.group())), text) if not text.isascii() else text


def _dotted(text: str) -> str:
    """7.45 pm as 7:45 pm."""
    return _DOTTED.sub(r"\1:\2", text) if "." in text else text


def _small(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    value = cardinal((word,))
    return int(value) if value is not None and value.denominator == 1 else None


def _minutes(word: str) -> int | None:
    if word in ("half", "quarter"):
        return 30 if word == "half" else 15
    return _small(word.split()[0])


def _part_of_day(text: str) -> str | None:
    match = _OF_DAY.search(text)
    return None if match is None else "am" if match.group(1) == "morning" else "pm"


def _open(hour: str, half: str | None, text: str) -> bool:
    """Whether am or pm was left open; a leading zero means the 24-hour clock."""
    settled = half is not None and not half.startswith("o")
    return not settled and 1 <= int(hour) <= 12 and hour[0] != "0" and _part_of_day(text) is None


def _clock(hour: int, minute: int, half: str | None, part: str | None) -> str | None:
    if hour > 24 or minute > 59:
        return None
    afternoon = (half is not None and half.startswith("p")) or half == "noon" or (half is None and part == "pm")
    morning = (half is not None and half.startswith("a")) or half == "midnight" or (half is None and part == "am")
    if (afternoon or morning) and hour <= 12:
        hour = hour % 12 + (12 if afternoon else 0)
    return f"{hour % 24:02d}:{minute:02d}"


def same_time(left: str, right: str) -> bool:
    """Equal, or equal up to the half of the day where one side left it open."""
    if left.rstrip("?") == right.rstrip("?"):
        return True
    if not (left.endswith("?") or right.endswith("?")):
        return False
    hours = [int(value[:2]) % 12 for value in (left, right)]
    return hours[0] == hours[1] and left[2:].rstrip("?") == right[2:].rstrip("?")


def same_duration(clock: str, seconds: int) -> bool:
    """1:30 as a duration: an hour and a half, or a minute and a half. Only for a clock without am or pm."""
    hours, minutes, rest = (int(part) for part in clock.rstrip("?").split(":"))
    if not clock.endswith("?") and hours:
        return False
    return seconds == hours * 3600 + minutes * 60 + rest or (rest == 0 and seconds == hours * 60 + minutes)


def same_date(left: str, right: str) -> bool:
    """Equal; a year that one side leaves out is not compared."""
    if left == right:
        return True
    return left.startswith("-") != right.startswith("-") and left[-5:] == right[-5:]
