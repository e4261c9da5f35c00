"""Clients take turns: a greedy one slows others down by no more than its share."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from seq2see.serve.batch_queue import Batcher
from seq2see.serve.bounds import BATCH_TOKENS, Bounds
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.fair_queue import FairQueue
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.request_error import RequestError

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide" / "serving.md"


def make_jobs(client: str, count: int, key: str | None = None, cost: int = 1) -> list[DecodeJob]:
    return [DecodeJob(lambda _: None, key=key, cost=cost, client=client) for _ in range(count)]


def serve(queue: FairQueue, seconds: dict[str, float], turns: int) -> str:
    """Serve so many jobs, one by one, and return the names of their clients; a job takes as long as its client says."""
    served = ""
    for _ in range(turns):
        jobs = queue.choose(0)
        queue.remove(jobs)
        queue.charge(jobs, seconds[jobs[0].client])
        served += jobs[0].client
    return served


def test_clients_with_equal_jobs_take_turns() -> None:
    queue = FairQueue(100)
    for client, count in (("a", 50), ("b", 3), ("c", 3)):
        queue.add(make_jobs(client, count), 0.1)
    assert serve(queue, dict.fromkeys("abc", 1.0), 12) == "abcabcabcaaa"


def test_clients_share_seconds_and_not_jobs() -> None:
    queue = FairQueue(500)
    queue.add(make_jobs("a", 100), 0.1)  # of 8 seconds each
    queue.add(make_jobs("b", 100), 0.1)  # of 1 second each
    counts = Counter(serve(queue, {"a": 8.0, "b": 1.0}, 90))
    assert counts["b"] == pytest.approx(8 * counts["a"], abs=8)


def test_who_comes_later_waits_for_one_job_and_not_for_a_queue() -> None:
    queue = FairQueue(500)
    queue.add(make_jobs("a", 100), 0.1)
    serve(queue, {"a": 8.0}, 10)
    queue.add(make_jobs("b", 2), 0.1)
    assert serve(queue, {"a": 8.0, "b": 1.0}, 3) == "bab"


def test_idleness_saves_nothing_up() -> None:
    queue = FairQueue(500)
    queue.add(make_jobs("b", 1), 0.1)
    queue.add(make_jobs("a", 100), 0.1)
    serve(queue, {"a": 1.0, "b": 1.0}, 50)
    queue.add(make_jobs("b", 40), 0.1)
    assert serve(queue, {"a": 1.0, "b": 1.0}, 20).count("b") in (10, 11)


def test_ever_new_clients_do_not_keep_others_waiting() -> None:
    queue = FairQueue(500)
    queue.add(make_jobs("a", 2), 0.1)
    served = serve(queue, {"a": 8.0}, 1)
    for number in range(40):
        queue.add(make_jobs(f"{number}", 1), 0.1)
        [job] = queue.choose(0)
        queue.remove([job])
        queue.charge([job], 1.0)
        served += job.client if job.client == "a" else "."
    assert served[1:].count("a") == 1


def test_what_is_remembered_of_clients_does_not_grow() -> None:
    queue = FairQueue(500)
    for number in range(1000):
        jobs = make_jobs(f"{number}", 1)
        queue.add(jobs, 0.1)
        queue.remove(jobs)
        queue.charge(jobs, 0.1)
    assert len(queue._used) <= 1


def test_batches_take_one_of_each_client_first() -> None:
    queue = FairQueue(100)
    queue.add(make_jobs("a", 5, key="k", cost=2), 0.1)
    queue.add(make_jobs("b", 1, key="other", cost=2), 0.1)
    queue.add(make_jobs("c", 2, key="k", cost=2), 0.1)
    assert [job.client for job in queue.choose(8)] == ["a", "c", "a", "c"]
    assert [job.client for job in queue.choose(1)] == ["a"]


def test_a_full_queue_takes_room_from_who_has_most() -> None:
    queue = FairQueue(10)
    greedy = make_jobs("a", 10)
    queue.add(greedy, 0.1)
    with pytest.raises(RequestError, match="10 of 10 texts wait"):
        queue.add(make_jobs("a", 1), 0.1)
    dropped = queue.add(make_jobs("b", 3), 0.1)
    assert [job for job, _ in dropped] == greedy[:-4:-1]
    assert {error.status for _, error in dropped} == {429}
    assert queue.add(make_jobs("b", 2), 0.1)
    with pytest.raises(RequestError):  # each has its half
        queue.add(make_jobs("b", 1), 0.1)
    with pytest.raises(RequestError):
        queue.add(make_jobs("c", 11), 0.1)
    assert Counter(job.client for job in queue.list_jobs()) == {"a": 5, "b": 5}


def test_the_newest_request_of_who_has_most_fails_with_429() -> None:
    batcher = Batcher(queue=2, budget=0, metrics=ServerMetrics())  # whose thread does not run
    greedy, modest = make_jobs("a", 2), make_jobs("b", 1)
    batcher.submit(greedy)
    batcher.submit(modest)
    assert [job.result.done() for job in (*greedy, *modest)] == [False, True, False]
    with pytest.raises(RequestError, match="queue is full"):
        greedy[1].result.result()


def test_the_defaults_of_the_command_line_are_those_of_the_bounds() -> None:
    from typer.main import get_command

    from seq2see.cli.app import app

    command = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    defaults = {parameter.name: parameter.default for parameter in command.params}
    bounds = {"max_text": "text", "max_texts": "texts", "max_beam": "beam", "max_body": "body", "timeout": "seconds"}
    bounds |= {"max_weights": "weights", "queue": "queue", "client_requests": "client_requests"}
    assert {name: defaults[name] for name in bounds} == {name: getattr(Bounds(), each) for name, each in bounds.items()}
    assert defaults["batch_tokens"] == BATCH_TOKENS
    rows = [line.split("|")[1:4] for line in GUIDE.read_text().splitlines() if line.startswith("| `--")]
    guide = {name.strip(" `-").replace("-", "_"): yaml.safe_load(value.replace(",", "")) for name, _, value in rows}
    assert guide == {name: defaults[name] for name in guide}
    assert guide.keys() >= bounds.keys()
