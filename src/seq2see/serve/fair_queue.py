"""The jobs that wait, client by client: who has used the model least comes first, so nobody takes more than a share."""

from collections.abc import Collection, Sequence

from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.request_error import RequestError


class FairQueue:
    """A queue of limited length that serves its clients in turn (fair queueing).

    Each client has a queue of its own, and the seconds of the model that it has used. The next job is that of the
    client who has used least; with jobs of equal length, clients take turns. A client that comes, or comes back, starts
    from the virtual time, which passes as fast as each of n busy clients is served: seconds / n. So nobody saves up
    time, and nobody can be kept waiting by ever new clients. See Demers, Keshav & Shenker 1989,
    doi:10.1145/75247.75248.

    If there is no room, a client makes room that has more jobs than the new one would have: its newest ones fail.

    Args:
        limit: the most jobs that may wait.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._queues: dict[str, list[DecodeJob]] = {}
        self._used: dict[str, float] = {}  # seconds; also of clients that do not wait, until time has caught up
        self._time = 0.0  # virtual
        self._turns: dict[str, int] = {}  # the last turn of each client that waits, which decides if seconds are equal
        self._turn = 0

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def add(self, jobs: Sequence[DecodeJob], seconds_a_job: float) -> list[tuple[DecodeJob, RequestError]]:
        """Add jobs, all of them or none.

        Args:
            jobs: the jobs of one request, and so of one client.
            seconds_a_job: how long a job takes, for the time after which to try again.

        Returns:
            The jobs of other clients that have made room, with their errors.

        Raises:
            RequestError: with status 429 if there is no room.
        """
        if not jobs:
            return []
        client = jobs[0].client
        counts = {name: len(queue) for name, queue in self._queues.items() if name != client}
        own = len(self._queues.get(client, ())) + len(jobs)
        dropped: list[DecodeJob] = []
        while own + sum(counts.values()) > self.limit:
            largest = max(counts, key=lambda name: counts[name], default=client)
            if counts.get(largest, 0) <= own:
                raise self._refuse(seconds_a_job)
            counts[largest] -= 1
            dropped.append(self._queues[largest][counts[largest]])
        error = self._refuse(seconds_a_job)
        self.remove(dropped)
        self._used[client] = max(self._used.get(client, 0.0), self._time)
        self._queues.setdefault(client, []).extend(jobs)
        return [(job, error) for job in dropped]

    def remove(self, jobs: Collection[DecodeJob]) -> None:
        """Remove jobs, because they are decoded now or no longer needed.

        Args:
            jobs: the jobs; one that does not wait is left as it is.
        """
        gone = set(jobs)
        for client in {job.client for job in jobs} & self._queues.keys():
            left = [job for job in self._queues[client] if job not in gone]
            if left:
                self._queues[client] = left
            else:
                del self._queues[client]

    def list_jobs(self) -> list[DecodeJob]:
        """Return all jobs: the first ones of all clients, then the second ones, who has used least first."""
        clients = sorted(self._queues, key=lambda client: (self._used[client], self._turns.get(client, 0)))
        rounds = max(map(len, self._queues.values()), default=0)
        queues = [self._queues[client] for client in clients]
        return [queue[place] for place in range(rounds) for queue in queues if place < len(queue)]

    def choose(self, budget: int) -> list[DecodeJob]:
        """Return the next job and those that may be decoded with it, in their order.

        Args:
            budget: the largest cost of all together; 0 for one job alone. A single job may cost more.
        """
        jobs = self.list_jobs()
        if not jobs or jobs[0].key is None or not budget:
            return jobs[:1]
        chosen, cost = jobs[:1], jobs[0].cost
        for job in jobs[1:]:
            if job.key == jobs[0].key and cost + job.cost <= budget:
                chosen.append(job)
                cost += job.cost
        return chosen

    def charge(self, jobs: Sequence[DecodeJob], seconds: float) -> None:
        """Record that jobs have used the model.

        Args:
            jobs: the jobs of a batch, which share the time by their costs.
            seconds: the time.
        """
        self._turn += 1
        total = sum(max(job.cost, 1) for job in jobs)
        for job in jobs:
            self._turns[job.client] = self._turn
            self._used[job.client] = self._used.get(job.client, self._time) + seconds * max(job.cost, 1) / total
        self._time += seconds / len({*self._queues, *(job.client for job in jobs)})
        self._turns = {client: turn for client, turn in self._turns.items() if client in self._queues}
        ahead = {client for client, used in self._used.items() if used > self._time}
        self._used = {client: used for client, used in self._used.items() if client in ahead | self._queues.keys()}

    def _refuse(self, seconds_a_job: float) -> RequestError:
        seconds = max(1, round(len(self) * seconds_a_job))
        return RequestError(
            f"the queue is full ({len(self)} of {self.limit} texts wait); try again in {seconds} s.",
            status=429,
            headers={"Retry-After": str(seconds)},
        )
