"""Streaming: an output as server-sent events, each token as soon as it is final."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from math import exp

from seq2see.core.special_tokens import UNKNOWN
from seq2see.core.token import Token
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.search.hypothesis import Hypothesis

Send = Callable[[str, Mapping[str, object]], None]  # (name of an event, its data)


class TokenStream:
    """Sends each token once it is final: all outputs that are still possible have it at this position.

    Greedy search and sampling have one possible output, so they send a token after every step. A beam sends one when
    its hypotheses agree; until then, a draft shows the likeliest hypothesis. If unknown words are replaced, the first
    of them and all later tokens are sent at the end, because the replacement needs the attention of the whole output.

    Args:
        run: the run that decodes.
        send: sends an event; it gets its name and its data.
        replaces: whether unknown words are replaced.
    """

    def __init__(self, run: Run, send: Send, *, replaces: bool) -> None:
        self.run, self.send, self.replaces = run, send, replaces
        self.sent = 0
        self.draft = ""

    def __call__(self, contenders: Sequence[Hypothesis]) -> None:
        """Send the tokens that have become final.

        Args:
            contenders: the hypotheses that may still become the output, best first.
        """
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
        """Send all tokens that were not sent yet.

        Args:
            prediction: the output.
        """
        self._send(prediction.ids, prediction.tokens)

    def _send(self, ids: Sequence[int], tokens: Sequence[Token]) -> None:
        for index in range(self.sent, len(tokens)):
            self.send("token", {"index": index, "id": ids[index], **asdict(tokens[index])})
        self.sent = len(tokens)


def count_common(sequences: Sequence[Sequence[int]]) -> int:
    """Return the length of the longest common prefix.

    Args:
        sequences: at least one sequence of ids.
    """
    shortest = min(map(len, sequences))
    places = takewhile(lambda place: len({row[place] for row in sequences}) == 1, range(shortest))
    return sum(1 for _ in places)


def format_event(name: str, data: object) -> str:
    """Return one event in the text format of server-sent events.

    Args:
        name: the name of the event.
        data: plain values that become JSON.
    """
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
