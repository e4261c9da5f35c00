"""A request after its checks: the run, the sources, and how their outputs are found."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from seq2see.runs.decoding import Decoding
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.serve.decode_job import DecodeJob
from seq2see.serve.decoding_cost import count_cost
from seq2see.tasks.constraints import Prefix


@dataclass(frozen=True)
class PreparedRequest:
    """A request that has passed all checks.

    Args:
        name: the name of the run in the registry.
        run: the run that decodes.
        decoding: how outputs are found, by the options of the request and the configuration of the run.
        key: requests with equal keys may be decoded together; one with None is decoded alone.
        sources: the sources: texts, documents, or the path of one image.
        prefixes: what the output of each source begins with.
        show_source: whether a response may contain the sources; False if they are paths of temporary files.
        deadline: until when the result must be there, on the monotonic clock.
    """

    name: str
    run: Run
    decoding: Decoding
    key: Hashable
    sources: Sequence[str]
    prefixes: Sequence[Prefix]
    show_source: bool
    deadline: float

    def jobs(self, act: Callable[[Prediction], object]) -> list[DecodeJob]:
        """Return a job for each source.

        Args:
            act: computes the result of a job from its prediction, on the thread of the model.
        """
        pairs = zip(self.sources, self.prefixes, strict=True)
        return [
            DecodeJob(act, self.run, self.decoding, self.key, text, prefix, count_cost(self.run, self.decoding, text))
            for text, prefix in pairs
        ]
