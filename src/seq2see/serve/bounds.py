"""How much requests may ask for. The command line reads its defaults from here, so this file imports nothing heavy."""

from dataclasses import dataclass

BATCH_TOKENS = 4096  # the default budget of a batch: source tokens times hypotheses


@dataclass(frozen=True)
class Bounds:
    """How much a request may ask for, and how many texts and requests there may be at once.

    Args:
        body: the most bytes of a request.
        values: the most values in the JSON of a request, however deep; reading them must not stop all other clients.
        text: the most characters of a text, of a document, of a prefix and of a target.
        texts: the most texts of a request.
        sentences: the most sentences of a document that comes as a list.
        beam: the largest width of a beam, and the most outputs for a text.
        samples: the most pseudo-references of minimum Bayes risk (MBR) decoding.
        length: the largest max_length of a request, in tokens, and the most prefix_ids.
        pixels: the most pixels of an image.
        weights: the most attention weights of a response, over all heads.
        seconds: the longest time for a body to arrive, and again for its result, with the time in the queue.
        queue: the most texts that wait, of all requests together.
        client_requests: the most requests of one client at the same time.
    """

    body: int = 12_000_000
    values: int = 20_000
    text: int = 5_000
    texts: int = 64
    sentences: int = 1_000
    beam: int = 16
    samples: int = 64
    length: int = 1_000
    pixels: int = 40_000_000
    weights: int = 4_000_000
    seconds: float = 30.0
    queue: int = 512
    client_requests: int = 256

    @property
    def options(self) -> dict[str, int]:
        """Return the largest value of each decoding option that has a bound."""
        return {
            "beam": self.beam,
            "n_best": self.beam,
            "mbr_samples": self.samples,
            "max_length": self.length,
            "min_length": self.length - 1,
        }
