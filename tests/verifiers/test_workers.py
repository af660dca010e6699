"""Worker processes: killable, safe from threads, daemonic pool workers and forks; nothing is left behind."""

import concurrent.futures
import json
import multiprocessing
import os
import signal
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
ENDLESS_SUM = parse(tokenise(r"\sum_{n=2}^\infty \frac{1}{n(\ln n)^2}"))
OTHER_SUM = parse(tokenise(r"\sum_{n=3}^\infty \frac{1}{n(\ln n)^3}"))


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
    with pytest.raises(workers.WorkerFailure) as failure:
        workers.ask({"task": "equal", "left": encoded(ENDLESS_SUM), "right": encoded(OTHER_SUM)})
    assert failure.value.kind == "cpu-limit"
    assert check() == EXPECTED


def test_after_a_cpu_limit_the_worker_goes_on_without_starting_again() -> None:
    worker = workers.Worker()
    request = {"task": "equal", "left": encoded(ENDLESS_SUM), "right": encoded(OTHER_SUM), "cpu_s": 0.05}
    try:
        assert worker.ask({"task": "none"}, 30)["outcome"] == "unknown"
        for _ in range(3):
            answering = worker.answering
            with pytest.raises(workers.WorkerFailure) as failure:
                worker.ask(request, 30, cpu_s=30)
            assert failure.value.kind == "cpu-limit"
            assert worker.alive
            assert worker.answering != answering
            assert not psutil.pid_exists(answering)
            begun = psutil.Process(worker.process.pid).cpu_times()
            assert worker.ask({"task": "none"}, 30)["outcome"] == "unknown"
            assert psutil.Process(worker.process.pid).cpu_times().user - begun.user < 0.2
    finally:
        worker.kill()


def test_an_answering_process_killed_from_outside_ends_its_worker() -> None:
    worker = workers.Worker()
    worker.greet()
    os.kill(worker.answering, signal.SIGKILL)
    with pytest.raises(workers.WorkerFailure) as failure:
        worker.ask({"task": "none"}, 30)
    assert failure.value.kind == "died"
    assert not worker.alive


def test_a_wall_limit_kills_the_worker() -> None:
    worker = workers.Worker()
    assert worker.ask({"task": "none"}, 30)["outcome"] == "unknown"
    os.killpg(worker.process.pid, signal.SIGSTOP)
    with pytest.raises(workers.WorkerFailure) as failure:
        worker.ask({"task": "none"}, 0.1)
    assert failure.value.kind == "wall-limit"
    assert worker.process.poll() is not None


def test_a_child_that_the_machine_starves_goes_on() -> None:
    """Stopped, it gets no CPU: past the wall limit the request waits for it, for the load may not decide."""
    worker = workers.Worker()
    worker.greet()
    os.killpg(worker.process.pid, signal.SIGSTOP)
    go_on = threading.Timer(1.0, os.killpg, [worker.process.pid, signal.SIGCONT])
    go_on.start()
    assert worker.ask({"task": "none"}, 0.1, cpu_s=0.5)["outcome"] == "unknown"
    os.killpg(worker.process.pid, signal.SIGSTOP)
    with pytest.raises(workers.WorkerFailure) as failure:
        worker.ask({"task": "none"}, 0.1)
    assert failure.value.kind == "wall-limit"


def test_a_request_whose_child_is_killed_is_put_again() -> None:
    pool = workers.Pool()
    try:
        first = pool.take()
        first.greet()
        pool.idle.insert(0, first)
        os.killpg(first.process.pid, signal.SIGSTOP)
        threading.Timer(0.3, os.killpg, [first.process.pid, signal.SIGKILL]).start()
        assert pool.ask({"task": "none"})["outcome"] == "unknown"
        assert first.process.wait() == -signal.SIGKILL
    finally:
        pool.close()


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
    requests = [Request(response=response, ground_truth=gold) for response, gold, _ in PAIRS * 45]
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


ENDLESS = r"\boxed{\int_0^1 \sin(x^{x^{x^x}})\,dx}"
SAME_EVERYWHERE = [
    *PAIRS,
    (r"\boxed{\sum_{k=1}^{n} k}", r"\frac{n(n+1)}{2}", Status.CORRECT),
    (r"\boxed{\sum_{k=1}^{n} k}", r"\frac{n(n-1)}{2}", Status.INCORRECT),
    (r"\boxed{\lim_{x \to 0} \frac{\sin x}{x}}", "1", Status.CORRECT),
    (r"\boxed{\int_0^{\pi} \sin x\,dx}", "2", Status.CORRECT),
    (r"\boxed{\int_0^{\pi} \sin x\,dx}", "3", Status.INCORRECT),
    (ENDLESS, "7", Status.INCORRECT),
    (r"\boxed{\sqrt{5-2\sqrt{6}}}", r"\sqrt3-\sqrt2", Status.CORRECT),
    (r"\boxed{x > 3}", r"(3, \infty)", Status.CORRECT),
    (r"\boxed{2x+4y=6}", "x+2y=3", Status.CORRECT),
    (r"\boxed{5 \text{ m}}", r"5 \text{ cm}", Status.INCORRECT),
    (r"\boxed{7}", r"\frac{1}{", Status.UNDECIDED),
    ("no idea", "7", Status.INCORRECT),
    (r"\boxed{\{3, 1, 2\}}", "1, 2, 3", Status.CORRECT),
]


def verdicts_here(_: int = 0) -> list[tuple[str, str, str | None]]:
    found = [verify_math(response, gold) for response, gold, _ in SAME_EVERYWHERE]
    return [(verdict.status.value, verdict.reason, verdict.extracted) for verdict in found]


def test_the_same_verdicts_in_thread_process_and_daemonic_pool() -> None:
    """Status, reason and extracted text of many verdicts, symbolic ones among them."""
    here = verdicts_here()
    assert [status for status, *_ in here] == [status.value for _, _, status in SAME_EVERYWHERE]
    assert "symbolic" in {reason for _, reason, _ in here}
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        assert threads.submit(verdicts_here).result() == here
    with multiprocessing.get_context("fork").Pool(1) as daemonic:
        assert daemonic.apply(verdicts_here) == here
    # the one that ends its worker took part above; so often it would only cost time
    kept = [place for place, (response, *_) in enumerate(SAME_EVERYWHERE) if response != ENDLESS]
    requests = [Request(response=SAME_EVERYWHERE[place][0], ground_truth=SAME_EVERYWHERE[place][1]) for place in kept]
    many = verify_many(requests * 7, workers=2)
    found = [(verdict.status.value, verdict.reason, verdict.extracted) for verdict in many]
    assert found == [here[place] for place in kept] * 7
    script = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]\n"
        "import json, test_workers\n"
        "print(json.dumps(test_workers.verdicts_here()))"
    )
    alone = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert [tuple(verdict) for verdict in json.loads(alone.stdout)] == here


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_same_verdicts_in_a_ray_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    """An actor's methods run outside the main thread of a worker process of Ray."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    here = verdicts_here()

    class Judge:
        def verdicts(self) -> list[tuple[str, str, str | None]]:
            import test_workers  # pyright: ignore[reportMissingImports]

            return test_workers.verdicts_here()

    paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    try:
        judge = ray.remote(Judge).remote()
        assert ray.get(judge.verdicts.remote(), timeout=300) == here
    finally:
        ray.shutdown()
