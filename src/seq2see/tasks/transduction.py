"""Transduction: from any source to a text, with a sequence-to-sequence model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar

import torch
from jaxtyping import Float
from pydantic import JsonValue
from torch import Tensor

from seq2see.config.schema import Config, Train
from seq2see.core.errors import CheckpointError, ConfigError
from seq2see.core.registry import part, shorten
from seq2see.data.batch import Batch, collate, group_by_length, plan_batches
from seq2see.data.modalities.learn import learn_modality, learn_tokenizer
from seq2see.data.modalities.modality import Modality
from seq2see.data.modalities.target import Target, match_targets
from seq2see.data.modalities.text import TextModality
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store, cache_folder
from seq2see.data.storage.packed import pack
from seq2see.data.tokenizers import Tokenizer
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, is_match
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.models.shared_parameters import share_fitting, share_parameters
from seq2see.objectives.build import build_sequence_objective
from seq2see.objectives.likelihood import Likelihood
from seq2see.objectives.minimum_risk import Reward
from seq2see.objectives.objective import Loss, Objective
from seq2see.search.hypothesis import Hypothesis, Search, SearchObserver
from seq2see.search.rules import Rules
from seq2see.system.blas import quicken_products
from seq2see.tasks.constraints import Constraints
from seq2see.tasks.decode_start import DecodeStart, cover, join, renumber
from seq2see.tasks.output_scores import SCORES, VALIDATION_SCORES
from seq2see.tasks.replay import replay
from seq2see.tasks.task import Output, Prefix, Task

LIKELIHOOD = Likelihood()  # plain: no label smoothing, no further terms
MAX_TARGET = 1_000_000  # tokens
PREDICT_TOKENS = 8192  # source positions that greedy search decodes at once, and scoring reads at once


@dataclass(frozen=True)
class Transduction(Task):
    """The task of writing a text for each source: translation, captioning, and whatever else has pairs.

    Args:
        source: how sources are read.
        target: the tokenizer of the target.
        longest_target: tokens of the longest target in training, end mark included; an output may always become as
            long.
    """

    name: ClassVar[str] = "transduction"
    unit: ClassVar[str] = "tokens"
    writes_text: ClassVar[bool] = True

    source: Modality
    target: Tokenizer
    longest_target: int = 0

    @classmethod
    def learn(
        cls, config: Config, pairs: Pairs, *, source: Modality | None = None, target: Target | None = None
    ) -> "Transduction":
        """Learn the vocabularies from the training texts; a side that is given stays as it is."""
        tokens = config.tokens
        known = None if target is None else target.tokenizer
        if tokens.joint is not None:
            both = [*pairs.source, *pairs.target]
            joint = known or (None if source is None else source.tokenizer)
            joint = joint or learn_tokenizer(tokens.joint, both, path=("tokens", "joint"))
            return cls(TextModality(joint), joint)
        return cls(
            source or learn_modality(tokens.source, pairs.source, path=("tokens", "source")),
            known or learn_tokenizer(tokens.target, pairs.target, path=("tokens", "target")),
        )

    @classmethod
    def list_labels(cls, config: Config, target: str) -> list[str]:
        """Return no labels: a target is a text."""
        return []

    def build(self, config: Config) -> Seq2Seq:
        """Return a new model of the configured kind; its initial weights follow from the seed."""
        quicken_products()
        share, joint = config.model.share or (), config.tokens.joint is not None
        if "embeddings" in share and not joint:
            raise ConfigError(
                "sharing the embeddings needs one vocabulary for both sides; write tokens.joint instead of "
                "tokens.source and tokens.target, or leave embeddings out of model.share.",
                path=("model", "share"),
            )
        with torch.random.fork_rng(devices=[]):  # the caller's own random numbers stay as they are
            torch.manual_seed(config.seed)
            model = build_seq2seq(
                encoder=part("encoder", config.model.encoder, path=("model", "encoder")),
                decoder=part("decoder", config.model.decoder, path=("model", "decoder")),
                source_sizes=self.source.sizes,
                target_vocabulary=len(self.target),
            )
            share_parameters(model, share)
            if "fitting" in share:
                share_fitting(model, joint=joint and not _come_apart(config))
            return model

    def objective(
        self, train: Train, *, teachers: Sequence[Seq2Seq] = (), reward: Reward | None = None
    ) -> Objective[Seq2Seq]:
        """Return the training objective: the likelihood of the targets, and the terms of the configuration."""
        return build_sequence_objective(train, teachers=teachers, reward=reward)

    def loss(self, model: Network, batch: Batch) -> Loss:
        """Return the negative log-likelihood of a batch, for validation."""
        return LIKELIHOOD(Seq2Seq.of(model), batch, 0)

    @torch.inference_mode()
    def likelihood(self, model: Seq2Seq, store: Store, *, budget: int) -> tuple[float, int]:
        """Return the negative log-likelihood of all targets of a store in nats, and how many tokens they have.

        Args:
            model: a model that this task has built; it is put into evaluation mode.
            store: the sources with the targets whose likelihood is computed.
            budget: the largest number of positions in a batch, padding included.
        """
        model.eval()
        plan = plan_batches(store.source.lengths, store.target.lengths, budget=budget, seed=0, epoch=0)
        losses = [self.loss(model, collate(store, rows).to(model.device)) for rows in plan]
        return sum(loss.nll.item() for loss in losses), sum(loss.tokens for loss in losses)

    def likelihood_metrics(self, model: Network, pairs: Pairs) -> list[Metric]:
        """Return the perplexity of the model on given targets."""
        return [self.perplexity(Seq2Seq.of(model), pairs)]

    def perplexity(self, model: Seq2Seq, pairs: Pairs) -> Metric:
        """Return exp of the mean negative log-likelihood of a token of the given targets, end marks included.

        Args:
            model: a model that this task has built.
            pairs: the sources with their targets; where a source has several, each counts.
        """
        pairs = pairs.ungroup()
        sources = self.source.prepare(pairs.source, cache=cache_folder(), encoder=model.encoder)
        store = Store(sources, pack(self.target.ids(pairs.target)), fingerprint="")
        nll, tokens = self.likelihood(model, store, budget=PREDICT_TOKENS)
        signature = f"perplexity|n:{len(pairs)}|unit:token|tokens:{tokens}|vocabulary:{len(self.target)}|end:counted"
        return Metric("perplexity", to_perplexity(nll / tokens), signature, higher_is_better=False)

    @torch.inference_mode()
    def predict(
        self,
        model: Network,
        sources: Sequence[str],
        search: Search,
        *,
        rules: Rules | None = None,
        prefixes: Sequence[Prefix] = (),
        unknown: bool = False,
        others: Sequence[tuple[Task, Network]] = (),
        observer: SearchObserver | None = None,
    ) -> list[list[Output]]:
        """Return outputs for each source, best first; a blank source has a blank output.

        The other models have the same target vocabulary; the observer knows the sources by their places.
        """
        mine, theirs = Seq2Seq.of(model), [task.as_transduction(one) for task, one in others]
        ids = [torch.tensor(match_targets(self.target, task.target), device=one.device) for task, one in theirs]
        constraints = Constraints(self.target, rules or Rules(), prefixes, unknown, observer)
        plan, covering = self.plan(sources, search), getattr(search, "coverage_penalty", 0.0) > 0
        results: list[list[Output]] = [[Output("", 0.0, (), (), source)] for source in sources]
        for rows in plan:
            batch = [sources[row] for row in rows]
            first = self.begin(mine, batch, covering=covering)
            more = [renumber(task.begin(one, batch), order) for (task, one), order in zip(theirs, ids, strict=True)]
            start = join([first, *more])
            found = search(start.step, start.state, start.fixed, constraints.limit(rows, start))
            for row, hypotheses in zip(rows, found, strict=True):
                results[row] = [self.read(hypothesis, sources[row]) for hypothesis in hypotheses]
        return results

    def plan(self, sources: Sequence[str], search: Search, *, workers: int = 1) -> list[list[int]]:
        """Return the rows of the sources that are decoded together, batch by batch; blank ones are in none."""
        rows = [row for row, source in enumerate(sources) if not self.source.is_blank(source)]
        if not rows:
            return []
        lengths = self.source.prepare([sources[row] for row in rows]).lengths
        # a beam has more to do between two steps, so it takes more hypotheses at once
        together = PREDICT_TOKENS * min(search.width, 2) // search.width
        batches = group_by_length(lengths, budget=self.source.max_batch or max(together, 1), workers=workers)
        return [[rows[place] for place in batch.tolist()] for batch in batches]

    def begin(self, model: Seq2Seq, sources: Sequence[str], *, covering: bool = False) -> DecodeStart:
        """Encode a batch of sources, and return the start of decoding.

        Args:
            model: a model that this task has built; it is put into evaluation mode.
            sources: the sources of the batch, none of which is blank.
            covering: whether the step also adds up the attention paid to the sources, for a coverage penalty.
        """
        model.eval()
        source, mask = model.place(self.source.prepare(sources).gather(range(len(sources))))
        memory = model.encoder(source, mask)
        fixed, state = model.decoder.begin(memory)
        # as long as any target of training, and for longer sources twice their length and a little
        longest = (2 * mask.flatten(1).sum(dim=1) + 20).clamp(min=self.longest_target)
        start = DecodeStart(model.decoder.step, state, fixed, longest)
        return cover(start, model, memory) if covering else start

    def describe(self) -> str:
        """Return how many tokens the vocabularies of source and target have, as text."""
        known = self.source.tokenizer
        counts = [] if known is None else [f"{len(known):,} source"]
        return " and ".join([*counts, f"{len(self.target):,} target tokens"])

    def group_references(self, pairs: Pairs) -> Pairs:
        """Return what outputs are compared with: each image once, with all its captions, or each text with its list."""
        return self.source.group_references(pairs)

    def with_saved_state(self, facts: Mapping[str, JsonValue]) -> "Transduction":
        """Return the task with the longest target that was saved with its weights."""
        if self.target.tokenizer is None:
            raise CheckpointError("the target must be the tokenizer of a text; got labels; copy the run again.")
        longest = facts.get("longest_target", 0)
        if type(longest) is not int or not 0 <= longest <= MAX_TARGET:
            raise CheckpointError(
                f"the longest target must be a number of tokens; got {shorten(longest)}; copy the run again."
            )
        return replace(self, longest_target=longest)

    def as_transduction(self, model: Network) -> "tuple[Transduction, Seq2Seq]":
        """Return this task and its model."""
        return self, Seq2Seq.of(model)

    def is_correct(self, text: str, reference: str) -> bool:
        """Return whether a text equals the reference in Unicode's composed form (NFC)."""
        return is_match(text, reference)

    def score(
        self, outputs: Sequence[Output], pairs: Pairs, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
    ) -> list[Metric]:
        """Return every metric of texts, or of captions if sources are images."""
        texts = [output.text for output in outputs]
        return SCORES[self.source.name](texts, pairs.references, bleu_tokenizer=bleu_tokenizer)

    def validation_metrics(self, outputs: Sequence[Output], pairs: Pairs, *, nll: float) -> dict[str, float]:
        """Return the quick metrics of texts or captions, and the perplexity."""
        metrics = VALIDATION_SCORES[self.source.name]([output.text for output in outputs], pairs.references)
        return {**{metric.name: metric.value for metric in metrics}, "perplexity": to_perplexity(nll)}

    @torch.inference_mode()
    def score_output(self, model: Network, given: tuple[Tensor, Tensor], output: Output) -> Float[Tensor, " b"]:
        """Return the log-probability of a text for each source of a batch."""
        return replay(Seq2Seq.of(model), given, [output.ids] * len(given[0])).log_probability().cpu()

    def read(self, hypothesis: Hypothesis, source: str) -> Output:
        """Return a hypothesis as text with tokens.

        Args:
            hypothesis: what the search found.
            source: the source as it was given.
        """
        tokens = self.target.tokens(hypothesis.tokens, confidences=[exp(one) for one in hypothesis.logprobs])
        text = self.target.decode(hypothesis.tokens)
        return Output(text, hypothesis.score, tokens, hypothesis.tokens, source, hypothesis.finished)


def _come_apart(config: Config) -> bool:
    """Return whether encoder and decoder begin with the weights of two different runs."""
    halves = {config.init.encoder, config.init.decoder} if config.init is not None else set()
    return len(halves - {None}) == 2


def to_perplexity(nll: float) -> float:
    """Return exp of the mean negative log-likelihood of a token, at most exp(700), which a float can still hold.

    Args:
        nll: the mean, in nats.
    """
    return exp(min(nll, 700.0))
