"""Where the final answer of a response is, or why there is none."""

import pytest

from verifiers.extract import final_answer

ANSWERS = {
    r"So \boxed{7}.": "7", r"\boxed{\frac{1}{2}} and then text": r"\frac{1}{2}",
    "<think>9</think>\n<answer> 7 </answer>": "7", "<think>a</think><answer>\\boxed{7}</answer>": "7",
    "#### 7": "7", "The answer is 7.": "7", "Answer: 7\nAnswer: 8": "8",
    "Final Answer: the final answer is $7$. I hope it is correct.": "$7$", "答案：7": "7", "Answer:\n\n$$7$$": "7",
    r"\boxed{1} and \boxed{2}": "1 ; 2", r"First \boxed{1}. Then \boxed{2}": "2", r"\boxed 42": "42", "7": "7",
}  # fmt: skip
REASONS = {
    "<think>still thinking": "truncated", r"<think>\boxed{7}": "truncated", r"so \boxed{7": "truncated",
    r"\boxed{}": "empty-box", r"The answer is 7. \boxed{ }": "empty-box", "": "no-answer", " \n ": "no-answer",
    r"\boxed{7}</think>": "no-answer", "<think>7</think><answer></answer>": "no-answer", "${7*1}": "no-answer",
}  # fmt: skip


@pytest.mark.parametrize(("response", "text"), ANSWERS.items())
def test_answers(response: str, text: str) -> None:
    assert final_answer(response).text == text


@pytest.mark.parametrize(("response", "reason"), REASONS.items())
def test_reasons(response: str, reason: str) -> None:
    answer = final_answer(response)
    assert answer.text is None
    assert answer.reason == reason
