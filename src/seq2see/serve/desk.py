"""The desk: questions are put in order, handed to the batcher, and waited for."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from math import isqrt
from typing import Any

from fastapi import Request

from seq2see.core.errors import Seq2SeeError
from seq2see.run import Decoding, Prediction, Run
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.sample import Sample
from seq2see.serve.answer import describe, explain_source
from seq2see.serve.batcher import Batcher, Job, count_cost, count_heads, count_tokens
from seq2see.serve.guard import OUR_MISTAKE
from seq2see.serve.meter import Meter
from seq2see.serve.picture import decode_picture, keep_picture
from seq2see.serve.schema import Bounds, Explanation, Question, RefusalError
from seq2see.serve.shelf import Kind, Shelf, source_kind
from seq2see.serve.source import check_beginnings, check_kind, read_texts
from seq2see.serve.stream import Speaker, format_event
from seq2see.tasks.demands import Prefix
from seq2see.tasks.transduction import Transduction


@dataclass(frozen=True)
class Order:
    """A question that is in order: the run, the sources and how their outputs are found."""

    name: str
    run: Run
    how: Decoding
    key: Hashable  # orders with one key may be decoded together; None: it goes alone
    sources: Sequence[str]
    prefixes: Sequence[Prefix]
    shown: bool  # whether sources are what was sent, and not files of ours

    def jobs(self, act: Callable[[Prediction], Any]) -> list[Job]:
        """A job for each source."""
        pairs = zip(self.sources, self.prefixes, strict=True)
        return [
            Job(act, self.run, self.how, self.key, text, prefix, count_cost(self.run, self.how, text))
            for text, prefix in pairs
        ]


@dataclass(frozen=True)
class Desk:
    """Answers questions about the runs of a shelf."""

    shelf: Shelf
    batcher: Batcher
    meter: Meter
    bounds: Bounds
    # pictures are looked at one at a time: their pixels take memory, and other questions need threads too
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def order(self, question: Question, picture: bytes | None, stack: ExitStack) -> Order:
        """Check a question against its run and our bounds; what it needs for a while goes onto the stack."""
        question.check(self.bounds)
        name, run = await asyncio.to_thread(self.shelf.find, question.model)
        kind = source_kind(run)
        sources = await self._read_sources(question, name, kind, picture, stack)
        check_beginnings(question, self.bounds)
        if not isinstance(run.task, Transduction):
            question.check_labels()
        how = question.decide(run)
        # who samples compares sums with a random number, labels have no search, and a search of somebody's own may not
        # tell: there nobody would see a narrow decision, so they go alone
        shows = isinstance(how.search, Greedy | Beam) and isinstance(run.task, Transduction)
        key = (name, id(run), question.options) if shows else None
        return Order(name, run, how, key, sources, _spread(question, len(sources)), shown=kind != "image")

    async def _read_sources(
        self, question: Question, name: str, kind: Kind, picture: bytes | None, stack: ExitStack
    ) -> Sequence[str]:
        check_kind(question, picture, name, kind)
        if kind != "image":
            return read_texts(question, self.bounds)
        async with self.looking:
            return [await asyncio.to_thread(self._keep, question, picture, stack)]

    def _keep(self, question: Question, picture: bytes | None, stack: ExitStack) -> str:
        """Where a picture is kept; looking at a large one takes a while."""
        data = picture if picture is not None else decode_picture(question.image or "")
        return str(stack.enter_context(keep_picture(data, self.bounds)))

    def _check_weights(self, run: Run, lengths: Sequence[int], what: str = "source") -> None:
        """Refuse what would look at too much: every head has a weight for each pair of tokens."""
        heads = count_heads(run)
        if heads * sum(length**2 for length in lengths) > self.bounds.weights:
            most = isqrt(self.bounds.weights // heads)
            raise RefusalError(
                f"attention is shown for up to {most:,} {what} tokens of this run; got {sum(lengths):,}; shorten it.",
                status=409,
            )

    def _check_sources(self, order: Order) -> None:
        self._check_weights(order.run, [count_tokens(order.run, source) for source in order.sources])

    def _check_written(self, order: Order, written: Sequence[Sequence[int]]) -> None:
        """The same for outputs, of each source; nobody knows how long they are before they are there."""
        self._check_weights(order.run, [len(ids) for ids in written] * len(order.sources), "written")

    async def predict(self, request: Request, question: Question, picture: bytes | None) -> dict[str, Any]:
        """The outputs of all sources."""
        with ExitStack() as stack:
            order = await self.order(question, picture, stack)
            if question.attention != "none":
                self._check_sources(order)
            jobs = order.jobs(lambda prediction: self._describe(order, question, prediction))
            outputs = await self.wait(request, jobs)
        self.meter.outputs.add(sum(len(output["ids"]) for output in outputs))
        return {"model": order.name, "outputs": outputs}

    def _describe(self, order: Order, question: Question, prediction: Prediction) -> dict[str, Any]:
        if question.attention != "none":
            self._check_written(order, [prediction.ids, *(other.ids for other in prediction.alternatives)])
        return describe(prediction, question.attention, source=order.shown)

    async def explain(self, request: Request, question: Explanation, picture: bytes | None) -> dict[str, Any]:
        """What the model looks at for one source."""
        with ExitStack() as stack:
            order = await self.order(question, picture, stack)
            if len(order.sources) != 1:
                raise RefusalError(f"one source is explained at a time; got {len(order.sources)}.")
            self._check_sources(order)
            [source], [prefix] = order.sources, order.prefixes
            check = partial(self._check_written, order)
            job = Job(lambda _: explain_source(order.run, order.how, source, prefix, question, job, check))
            [payload] = await self.wait(request, [job])
        shown = {} if order.shown else {"source": "picture"}  # not the name of a file of ours
        return {**payload, **shown, "model": order.name}

    async def wait(self, request: Request, jobs: Sequence[Job]) -> list[Any]:
        """The answers of jobs; whoever hangs up or waits too long makes room for others."""
        self.batcher.submit(jobs)
        answers: asyncio.Future[list[Any]] = asyncio.gather(*(asyncio.wrap_future(job.answer) for job in jobs))
        gone: asyncio.Future[None] = asyncio.create_task(hang_up(request))
        try:
            both: set[asyncio.Future[Any]] = {answers, gone}
            await asyncio.wait(both, timeout=self.bounds.seconds, return_when=asyncio.FIRST_COMPLETED)
            if answers.done():
                return answers.result()
            self.meter.left.add()
            raise self._late() if not gone.done() else RefusalError("the client hung up.", status=499)
        finally:
            self.batcher.leave(jobs)
            gone.cancel()
            answers.add_done_callback(_forget)
            answers.cancel()

    async def stream(self, request: Request, question: Question, picture: bytes | None) -> AsyncIterator[str]:
        """The events of one output; what is wrong with the question is raised before the first of them."""
        stack, loop = ExitStack(), asyncio.get_running_loop()
        events: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

        def post(name: str, data: Any) -> None:
            with suppress(RuntimeError):  # the server has stopped meanwhile
                loop.call_soon_threadsafe(events.put_nowait, (name, data))

        try:
            order = await self.order(question, picture, stack)
            if len(order.sources) != 1:
                raise RefusalError(f"a stream has one source; got {len(order.sources)}.")
            if isinstance(order.how.search, Sample) and question.n_best > 1:
                raise RefusalError("a stream has one output if it is sampled; leave out n_best.", status=409)
            if question.attention != "none":
                self._check_sources(order)
            speaker = Speaker(order.run, post, replaces=order.how.replace_unknown is not False)

            def finish(prediction: Prediction) -> dict[str, Any]:
                speaker.finish(prediction)
                return self._describe(order, question, prediction)

            [job] = order.jobs(finish)
            job.hear = speaker
            job.answer.add_done_callback(lambda answer: post("end", answer))
            self.batcher.submit([job])
        except BaseException:
            stack.close()
            raise
        return self._speak(request, order, job, events, stack)

    async def _speak(
        self, request: Request, order: Order, job: Job, events: "asyncio.Queue[tuple[str, Any]]", stack: ExitStack
    ) -> AsyncIterator[str]:
        until = time.monotonic() + self.bounds.seconds
        gone = asyncio.create_task(hang_up(request))
        try:
            yield format_event("start", {"model": order.name})
            name = ""
            while name not in ("done", "error"):
                name, data = await self._next(events, gone, until)
                if name == "end":
                    name, data = _conclude(order, data)
                if name == "gone":
                    return
                yield format_event(name, data)
        except (asyncio.CancelledError, GeneratorExit):  # nobody reads any more
            self.meter.left.add()
            raise
        finally:
            gone.cancel()
            self.batcher.leave([job])
            stack.close()

    async def _next(
        self, events: "asyncio.Queue[tuple[str, Any]]", gone: "asyncio.Task[None]", until: float
    ) -> tuple[str, Any]:
        get = asyncio.create_task(events.get())
        try:
            left = max(until - time.monotonic(), 0)
            await asyncio.wait({get, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if get.done():
                return get.result()
            self.meter.left.add()
            return ("gone", None) if gone.done() else ("error", {"error": str(self._late())})
        finally:
            get.cancel()

    def _late(self) -> RefusalError:
        return RefusalError(
            f"the answer took longer than {self.bounds.seconds:g} s; ask for less, or start with a longer --timeout.",
            status=504,
        )


def _spread(question: Question, count: int) -> Sequence[Prefix]:
    """A prefix for each source."""
    if question.prefix_ids is not None:
        if count != 1 or question.prefix is not None:
            raise RefusalError("prefix_ids goes with one source, and without prefix.", status=409)
        return [question.prefix_ids]
    if question.prefix is None or isinstance(question.prefix, str):
        return [question.prefix or ""] * count
    if len(question.prefix) != count:
        got = len(question.prefix)
        sentence = f"there must be one prefix for all texts or one for each; got {got} for {count} texts."
        raise RefusalError(sentence, status=409)
    return question.prefix


def _conclude(order: Order, answer: Any) -> tuple[str, dict[str, Any]]:
    """The last event of a stream."""
    error = answer.exception()
    if error is None:
        return "done", {"model": order.name, "output": answer.result()}
    known = isinstance(error, Seq2SeeError)
    return "error", {"error": str(error) if known else OUR_MISTAKE}


def _forget(answers: "asyncio.Future[Any]") -> None:
    """Look at an answer that nobody wants, so that asyncio does not complain that nobody did."""
    with suppress(asyncio.CancelledError):
        answers.exception()


async def hang_up(request: Request) -> None:
    """Come back when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
