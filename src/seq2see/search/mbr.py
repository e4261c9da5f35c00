"""Minimum Bayes risk decoding: of the candidates of another search, take the one with the highest expected utility."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import torch
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from seq2see.core.errors import SearchError
from seq2see.core.registry import Part
from seq2see.search.hypothesis import CandidateSearch, Fixed, Hypothesis, Limits, Search, State, Step
from seq2see.search.options import MbrPower, MbrPrecision, MbrSamples
from seq2see.search.sample import draw_several

LONGEST_NGRAM = 2  # tokens; the utility compares n-grams of 1 token up to so many
SAMPLE_WEIGHT = 2 / 3  # of all pseudo-references, samples weigh so much: a beam holds little but variants of one output
SAMPLE_TEMPERATURE = 0.6  # below 1, or many samples would have tokens that label smoothing alone makes possible
SAMPLE_SEED = 1

Text = tuple[int, ...]


class MinimumBayesRisk:
    """Ranks the candidates of a search by expected utility (Kumar & Byrne 2004, https://aclanthology.org/N04-1022).

    The output is argmax_c sum_r w(r) u(c, r). Candidates c are the outputs of the inner search. Pseudo-references r are
    the same candidates, with w(r) proportional to exp(score) ** power, and outputs drawn at random from the model
    (Eikema & Aziz 2020, arXiv:2005.10283), all with the same w. The utility u is the F-measure of shared n-grams.

    Args:
        search: the inner search, such as `{kind: beam, width: 20}`.
        power: the exponent of a candidate's weight, above 0; larger values give likelier candidates more weight.
        samples: how many outputs are drawn as further pseudo-references; they are never returned. 0 draws none.
        precision: the weight of precision in the F-measure, 0 to 1; recall has the rest.
        n_best: how many candidates are returned, best first; at most as many as the inner search finds.
    """

    def __init__(
        self,
        *,
        search: Part[Search],
        power: MbrPower = 1.0,
        samples: MbrSamples = 0,
        precision: MbrPrecision = 0.5,
        n_best: Annotated[int, Ge(1)] = 1,
    ) -> None:
        inner = search()
        if not isinstance(inner, CandidateSearch):
            raise SearchError(
                f"mbr must be around a search that lists its candidates, such as beam; got {search.kind}; change it."
            )
        if power == 0:
            raise SearchError("the power of mbr must be above 0; got 0; name its inner search alone instead.")
        candidates = max(inner.width, inner.n_best)
        if n_best > candidates:
            raise SearchError(
                f"n_best must be at most the width of the beam; got {n_best} of {candidates}; widen the beam."
            )
        self.search, self.power, self.precision, self.n_best = inner, power, precision, n_best
        self.samples = samples if candidates > 1 else 0  # a single candidate needs no ranking
        self.width = max(inner.width, self.samples)
        self.coverage_penalty = getattr(inner, "coverage_penalty", 0.0)
        self.reports_margins = inner.reports_margins

    def __call__(self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits) -> list[list[Hypothesis]]:
        samples = draw_samples(step, state, fixed, limits, count=self.samples)
        # draws come one after the other, so that none of them alone is what the output may begin with
        observed = limits if self.reports_margins else replace(limits, observer=None)
        found = self.search.candidates(step, state, fixed, observed)
        ranked = [self._rank(*each) for each in zip(found, samples, strict=True)]
        if limits.observer is not None:
            for source, rows in enumerate(ranked):
                gaps = [better.score - worse.score for better, worse in pairwise(rows[: self.n_best + 1])]
                limits.observer.decide(torch.full((len(gaps),), source), torch.tensor(gaps))
        return [rows[: self.n_best] for rows in ranked]

    def _rank(self, candidates: Sequence[Hypothesis], samples: Sequence[Hypothesis]) -> list[Hypothesis]:
        scored = score_candidates(candidates, samples, power=self.power, precision=self.precision)
        return sorted(scored, key=lambda row: -row.score)


def score_candidates(
    candidates: Sequence[Hypothesis], samples: Sequence[Hypothesis] = (), *, power: float, precision: float = 0.5
) -> list[Hypothesis]:
    """Return the candidates of one source, in the same order, with their expected utility as score, from 0 to 1.

    A candidate weighs exp(score) ** power, with the score of the inner search: so length and coverage penalties count,
    and an output that is likely because it is short does not outweigh all others.

    Args:
        candidates: the outputs of one source, with the scores of the inner search.
        samples: further pseudo-references, which have the share `SAMPLE_WEIGHT` of the weight together; their scores
            do not count.
        power: the exponent of a candidate's weight.
        precision: the weight of precision in the F-measure, 0 to 1.
    """
    if not candidates:
        return []
    weights = (power * torch.tensor([each.score for each in candidates], dtype=torch.float64)).softmax(dim=0)
    if samples:
        others = weights.new_full((len(samples),), SAMPLE_WEIGHT / len(samples))
        weights = torch.cat([(1 - SAMPLE_WEIGHT) * weights, others])
    texts = [_strip(each) for each in candidates]
    references = [_strip(each) for each in (*candidates, *samples)]
    sizes = range(1, LONGEST_NGRAM + 1)
    utility = torch.stack([_compare(texts, references, size, precision) for size in sizes]).mean(dim=0)
    return [replace(each, score=score) for each, score in zip(candidates, (utility @ weights).tolist(), strict=True)]


def draw_samples(
    step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits, *, count: int
) -> list[list[Hypothesis]]:
    """Draw the pseudo-references of each source, without telling the observer.

    All sources use the same random numbers, so that other sources of the batch change nothing.

    Args:
        step: decodes one token for each hypothesis.
        state: the state before the first token, one row for each source.
        fixed: what does not change from step to step, one row for each source.
        limits: what the outputs must obey.
        count: how many outputs are drawn for each source; 0 gives empty lists.
    """
    if not count:
        return [[] for _ in range(len(limits.longest))]
    stream = torch.Generator().manual_seed(SAMPLE_SEED)
    return draw_several(
        step,
        state,
        fixed,
        replace(limits, observer=None),
        count=count,
        temperature=SAMPLE_TEMPERATURE,
        chances=lambda rows: torch.rand(count, generator=stream)[rows % count],
    )


def _strip(one: Hypothesis) -> Text:
    """Return the tokens of an output without the end token."""
    return one.tokens[:-1] if one.finished else one.tokens


def _compare(texts: Sequence[Text], references: Sequence[Text], size: int, precision: float) -> Float[Tensor, "k m"]:
    """Return the F-measure of shared n-grams of one size between each text and each reference.

    shared / (precision * n-grams of the text + (1 - precision) * n-grams of the reference)
    """
    ngrams = [Counter(zip(*(text[start:] for start in range(size)), strict=False)) for text in (*texts, *references)]
    columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(ngram for each in ngrams for ngram in each))}
    counts = torch.zeros(len(ngrams), len(columns), dtype=torch.float64)
    for row, each in enumerate(ngrams):
        for ngram, count in each.items():
            counts[row, columns[ngram]] = count
    mine, theirs = counts[: len(texts)].unsqueeze(1), counts[len(texts) :].unsqueeze(0)
    shared, sizes = torch.minimum(mine, theirs).sum(dim=2), (mine.sum(dim=2), theirs.sum(dim=2))
    whole = precision * sizes[0] + (1 - precision) * sizes[1]
    empty = sizes[0] + sizes[1] == 0  # two texts that are too short for n-grams of this size agree
    return torch.where(empty, 1.0, shared / whole.clamp(min=torch.finfo(whole.dtype).tiny))
