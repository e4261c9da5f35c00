"""Streams: an output token by token, as server-sent events, each token only when it is certain."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from math import exp
from typing import Any

from seq2see.core.token import Token
from seq2see.data.tokenise import UNKNOWN
from seq2see.run import Prediction, Run
from seq2see.search.hypothesis import Hypothesis

Post = Callable[[str, dict[str, Any]], None]  # (name of an event, its data)


class Speaker:
    """Says each token as soon as all outputs that are still possible begin with it; never takes one back.

    Greedy search and sampling have one possible output, so they speak after every step. A beam speaks when its
    hypotheses agree; until then, drafts say what is likeliest for now. Where unknown words are replaced, the first of
    them and all that follows wait for the end, because only then it is known what stands there.
    """

    def __init__(self, run: Run, post: Post, *, replaces: bool) -> None:
        self.run, self.post, self.replaces = run, post, replaces
        self.said = 0
        self.draft = ""

    def __call__(self, contenders: Sequence[Hypothesis]) -> None:
        """Look at what is still possible, the best first."""
        best = contenders[0]
        sure = count_common([one.tokens for one in contenders])
        if self.replaces and UNKNOWN in best.tokens[:sure]:
            sure = best.tokens.index(UNKNOWN)
        if sure > self.said:
            tokens = self.run.task.target.tokens(best.tokens[:sure])
            known = zip(tokens, best.logprobs, strict=False)
            self._say(best.tokens, [replace(token, confidence=exp(logprob)) for token, logprob in known])
        if len(contenders) > 1:
            draft = self.run.task.target.decode(best.tokens)
            if draft != self.draft:
                self.draft = draft
                self.post("draft", {"text": draft, "certain": len(self.run.task.target.decode(best.tokens[:sure]))})

    def finish(self, prediction: Prediction) -> None:
        """Say the rest."""
        self._say(prediction.ids, prediction.tokens)

    def _say(self, ids: Sequence[int], tokens: Sequence[Token]) -> None:
        for index in range(self.said, len(tokens)):
            self.post("token", {"index": index, "id": ids[index], **asdict(tokens[index])})
        self.said = len(tokens)


def count_common(sequences: Sequence[Sequence[int]]) -> int:
    """With how many equal tokens all sequences begin."""
    shortest = min(map(len, sequences))
    places = takewhile(lambda place: len({row[place] for row in sequences}) == 1, range(shortest))
    return sum(1 for _ in places)


def format_event(name: str, data: Any) -> str:
    """One event as it is sent."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
