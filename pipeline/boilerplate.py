"""Sentences around a question that are no part of the problem, and sentences on how to write its answer."""

INSTRUCTIONS = (
    r"let'?s think step by step(?:\s*,?\s*(?:and\s+)?(?:then\s+)?(?:output|put|give|write)?[^.\n]*?(?:\\boxed\s*\{\s*\}"
    r"|boxed\s*\{\s*\}|\\boxed|final answer)[^.\n]*)?\.?",
    r"solve the following math(?:ematics|s)? problem(?: step by step| efficiently and clearly)?[.:]?(?:\s*the last line"
    r" of your response should be of the form answer:[^\n]*?(?:where \$?answer is the answer to the problem\.?|\.))?",
    r"remember to put your answer on its own line after \"?answer:?\"?\.?",
    r"(?:please\s+)?reason step by step,?\s*(?:and\s+)?put your final answer (?:with)?in \\?boxed\s*\{?\s*\}?\.?",
    r"(?:(?:please|you (?:must|should)|(?:make|be) sure to|remember to)\s+)*(?:put|enclose|write|present|provide|give"
    r"|output|return|state|express|answer with)\s+(?:(?:your|the|only|only the)\s+){0,2}(?:final\s+)?answer\b"
    r"[^.\n$\\]{0,40}?\\?boxed\s*\{(?:your answer)?\s*\}(?: at the end)?\.?",
    r"please (?:think|reason|solve|answer)[^.\n]*step by step\.?",
    r"(?<![^.?!\n$] )think step by step(?: before answering)?\.",
    r"the (?:final )?answer should be (?:put |enclosed |given )?(?:with)?in \\boxed\s*\{?\s*\}?\.?",
    r"return your final response within \\boxed\s*\{?\s*\}?\.?(?: only include the letter choice[^.\n]*\.)?",
)
"""Prompt boilerplate around a question, for `re.IGNORECASE`; no part of any problem."""

ANSWER_FORMAT = (
    r"(?:express|give|write|enter|state|leave) (?:your|the) (?:final )?answers?"
    r" (?:as|in|to|using|with|separated)\b[^.?!]*[.?!]",
    r"(?:enter|type|write|give|choose) the letter[^.?!\n]*[.?!]?",
)
"""Sentences on how to write the answer: part of the problem, but two that differ in nothing else are one problem."""

TRIGGERS = ("step by step", "answer", "boxed", "the following math", "final response", "the letter")
"""Whatever one of the patterns above matches holds one of these words, in any case: texts without are not searched."""
