"""Worker processes: killable, safe from threads, daemonic pool workers and forks; nothing is left behind."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from verifiers import Request, Status, verify_many, verify_math, workers
from verifiers.answer.parser import parse
from verifiers.answer.tokens import tokenise
from verifiers.reward import compute_score
from verifiers.symbolic import decoded, encoded

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [
    (r"\boxed{\int_0^1 x^2\,dx}", r"\frac{1}{3}", Status.CORRECT),
    (r"\boxed{\int_0^1 x^2\,dx}", r"\frac{1}{2}", Status.INCORRECT),
    (r"\boxed{\frac{\pi^2}{6}}", r"\sum_{n=1}^{\infty}\frac{1}{n^2}", Status.CORRECT),
    (r"\boxed{0.5}", r"\frac12", Status.CORRECT),
    (r"\boxed{5^{5^{5^5}}}", "7", Status.INCORRECT),
]


def check(_: int = 0) -> list[str]:
    return [verify_math(response, gold).status.value for response, gold, _ in PAIRS]


EXPECTED = [status.value for _, _, status in PAIRS]


def test_in_this_thread() -> None:
    assert check() == EXPECTED


def test_in_threads() -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(check())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [EXPECTED] * 4


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_daemonic_pool_workers(method: str) -> None:
    """Pool workers are daemonic and may have no multiprocessing children; ours are plain subprocesses."""
    check()
    script = (
        "import multiprocessing, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_workers\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        print(pool.map(test_workers.check, range(2)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == str([EXPECTED] * 2), done.stderr[-2000:]


def test_verl_like_pool() -> None:
    """compute_score as verl's reward manager calls it: from a process pool."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        score = pool.apply(compute_score, ("math", r"\boxed{\int_0^1 x\,dx}", "0.5"))
    assert score["score"] == 1.0


def test_a_request_that_does_not_end_is_killed() -> None:
    tree = encoded(parse(tokenise(r"\int_0^1 \sin(x^{x^{x^x}})\,dx")))
    other = encoded(parse(tokenise(r"\int_0^1 \cos(x^{\sin x^x})dx")))
    started = time.monotonic()
    with pytest.raises(workers.WorkerFailure) as failure:
        workers.ask({"task": "equal", "left": tree, "right": other})
    assert failure.value.kind in ("cpu-limit", "wall-limit")
    assert time.monotonic() - started < 6
    assert check() == EXPECTED


def test_a_wall_limit_kills_the_worker() -> None:
    worker = workers.Worker()
    assert worker.ask({"task": "none"}, 30)["outcome"] == "unknown"
    with pytest.raises(workers.WorkerFailure) as failure:
        worker.ask({"task": "none"}, -1.0)
    assert failure.value.kind == "wall-limit"
    assert worker.process.poll() is not None


def test_a_dead_worker_is_replaced() -> None:
    check()
    for idle in workers.pool().idle:
        idle.process.kill()
        idle.process.wait()
    assert check() == EXPECTED


def test_no_child_is_left_behind() -> None:
    script = (
        "import os, sys, json\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "import psutil\n"
        "from verifiers import verify_math\n"
        r"verify_math(r'\boxed{\int_0^1 x\,dx}', '0.5')" + "\n"
        "print(json.dumps([child.pid for child in psutil.Process().children()]), flush=True)\n"
        "os._exit(0) if sys.argv[1] == 'hard' else None\n"
    )
    for ending in ("soft", "hard"):
        done = subprocess.run(
            [sys.executable, "-c", script, ending], capture_output=True, text=True, timeout=60, check=True
        )
        children = json.loads(done.stdout)
        assert children
        deadline = time.monotonic() + 10
        while any(psutil.pid_exists(pid) for pid in children) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(psutil.pid_exists(pid) for pid in children)


def test_any_worker_count_gives_the_same_verdicts() -> None:
    requests = [Request(response=response, ground_truth=gold) for response, gold, _ in PAIRS * 60]
    alone, together = verify_many(requests, workers=1), verify_many(requests, workers=2)
    assert [repr(verdict) for verdict in alone] == [repr(verdict) for verdict in together]


def test_trees_travel() -> None:
    for text in (r"\frac{1}{3}x^2", r"\sum_{k=1}^n k", "0.25", r"\pi i"):
        tree = parse(tokenise(text))
        assert decoded(json.loads(json.dumps(encoded(tree)))) == tree


def test_memory_of_parent_and_children_is_bounded() -> None:
    check()
    process = psutil.Process(os.getpid())
    children = sum(child.memory_info().rss for child in process.children(recursive=True))
    assert children < 500e6


def test_code_is_never_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    payload = f"open('{canary}','w').write('x')"
    forms = (
        payload,
        f"\\boxed{{{payload}}}",
        f"\\boxed{{2*{payload}}}",
        f"\\boxed{{\\pi*{payload}}}",
        f"[[1,2],[3,{payload}]]",
        f"\\boxed{{__import__('os').system('touch {canary}')}}",
        f"\\boxed{{x = {payload}}}",
        f"\\boxed{{\\text{{{payload}}}}}",
        f"\\boxed{{(lambda: {payload})()}}",
        f"\\boxed{{\\int_0^1 {payload} dx}}",
        f"\\boxed{{f({payload})}}",
    )
    for form in forms:
        for gold in ("7", form, r"\pi", "[[1,2],[3,4]]", "x=1"):
            verify_math(form, gold)
            verify_math(r"\boxed{7}", form)
    assert not canary.exists()
