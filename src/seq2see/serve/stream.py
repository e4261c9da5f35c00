"""Streaming: an output token by token, as server-sent events, each token only when it is certain."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from math import exp

from seq2see.core.special_tokens import UNKNOWN
from seq2see.core.token import Token
from seq2see.runs.run import Prediction, Run
from seq2see.search.hypothesis import Hypothesis

Send = Callable[[str, Mapping[str, object]], None]  # (name of an event, its data)


class TokenStream:
    """Sends each token as soon as all outputs that are still possible begin with it; never takes one back.

    Greedy search and sampling have one possible output, so they send a token after every step. A beam sends one when
    its hypotheses agree; until then, a draft shows the likeliest hypothesis. Where unknown words are replaced, the
    first of them and all that follows wait for the end, because only then it is known what replaces it.

    Args:
        run: the run that decodes.
        send: takes the name of an event and its data.
        replaces: whether unknown words are replaced.
    """

    def __init__(self, run: Run, send: Send, *, replaces: bool) -> None:
        self.run, self.send, self.replaces = run, send, replaces
        self.sent = 0
        self.draft = ""

    def __call__(self, contenders: Sequence[Hypothesis]) -> None:
        """Send what is certain of the outputs that are still possible, best first."""
        target = self.run.transduction[0].target
        best = contenders[0]
        sure = count_common([one.tokens for one in contenders])
        if self.replaces and UNKNOWN in best.tokens[:sure]:
            sure = best.tokens.index(UNKNOWN)
        if sure > self.sent:
            tokens = target.tokens(best.tokens[:sure])
            known = zip(tokens, best.logprobs, strict=False)
            self._send(best.tokens, [replace(token, confidence=exp(logprob)) for token, logprob in known])
        if len(contenders) > 1:
            draft = target.decode(best.tokens)
            if draft != self.draft:
                self.draft = draft
                self.send("draft", {"text": draft, "certain": len(target.decode(best.tokens[:sure]))})

    def finish(self, prediction: Prediction) -> None:
        """Send the rest."""
        self._send(prediction.ids, prediction.tokens)

    def _send(self, ids: Sequence[int], tokens: Sequence[Token]) -> None:
        for index in range(self.sent, len(tokens)):
            self.send("token", {"index": index, "id": ids[index], **asdict(tokens[index])})
        self.sent = len(tokens)


def count_common(sequences: Sequence[Sequence[int]]) -> int:
    """The length of the longest common prefix."""
    shortest = min(map(len, sequences))
    places = takewhile(lambda place: len({row[place] for row in sequences}) == 1, range(shortest))
    return sum(1 for _ in places)


def format_event(name: str, data: object) -> str:
    """One event as it is sent."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
