"""From any source to a text: data, loss, prediction and metrics of a sequence-to-sequence model."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import exp
from typing import Any, ClassVar

import torch

from seq2see.config.schema import Config, PartSpec
from seq2see.core.choice import choosing
from seq2see.core.errors import ConfigError
from seq2see.core.product import quicken_products
from seq2see.core.registry import part
from seq2see.data.batch import Batch, collate, group_by_length, plan_batches
from seq2see.data.pairs import Pairs
from seq2see.data.sequences import pack
from seq2see.data.sources import Cutter
from seq2see.data.store import Store, cache_folder
from seq2see.data.tokenise import Tokenizer
from seq2see.metrics.caption import glance_captions, score_captions, unpenalised_bleu
from seq2see.metrics.meteor import Meteor, MeteorError, explain_absence
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, glance_texts, is_match, score_texts
from seq2see.models.seq2seq import Seq2Seq, build_seq2seq
from seq2see.models.share import share_fitting, share_parameters
from seq2see.nn.loss import output_cross_entropy, shift_targets
from seq2see.search.hypothesis import Hypothesis, Search, Watch
from seq2see.search.rules import Rules
from seq2see.tasks.beginning import Beginning, cover, join, renumber
from seq2see.tasks.demands import Demands, Prefix
from seq2see.tasks.evenness import measure_unevenness, watching
from seq2see.tasks.guessing import mix_guesses
from seq2see.tasks.reward import Measure, reward_loss
from seq2see.tasks.task import Loss, Output
from seq2see.tasks.teaching import ask_teachers

log = logging.getLogger("seq2see")

PREDICT_TOKENS = 8192  # source positions, times hypotheses, that are decoded at once
PREDICT_PICTURES = 64  # the same of pictures, each of which is many numbers


@dataclass(frozen=True)
class Transduction:
    """The task with its learned tokenizers."""

    unit: ClassVar[str] = "tokens"  # what its losses are sums over

    source: Cutter
    target: Tokenizer
    longest_target: int = 0  # tokens of the longest target in training; outputs may always become that long
    measure: Measure | None = None  # what outputs earn in training, if they are rewarded
    teachers: tuple[Seq2Seq, ...] = ()  # models whose probabilities are learned, if there are any

    @classmethod
    def learn(cls, config: Config, pairs: Pairs, *, known: Mapping[str, Tokenizer] | None = None) -> "Transduction":
        """Learn the vocabularies from the training texts; a side that is `known` keeps its own."""
        tokens, known = config.tokens, known or {}
        if tokens.joint is not None:
            joint = next(iter(known.values()), None) or _learn(tokens.joint, [*pairs.source, *pairs.target], "joint")
            return cls(joint, joint)
        source = known.get("source") or _learn(tokens.source, pairs.source, "source")
        return cls(source, known.get("target") or _learn(tokens.target, pairs.target, "target"))

    @property
    def reads_pictures(self) -> bool:
        """Whether outputs are captions, and not made from texts."""
        return "picture_size" in self.source.sizes

    def build(self, config: Config) -> Seq2Seq:
        """A new model of the configured kind; its initial weights follow from the seed."""
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
                evenness=config.train.attention_penalty,
            )
            share_parameters(model, share)
            if "fitting" in share:
                share_fitting(model, joint=joint and not _come_apart(config))
            return model

    def loss(
        self,
        model: Seq2Seq,
        batch: Batch,
        *,
        smoothing: float = 0.0,
        guessed: float = 0.0,
        rewarded: float = 0.0,
        taught: float = 0.0,
    ) -> Loss:
        """Cross-entropy under teacher forcing; padding is never computed at the output layer.

        A share of the inputs may be `guessed`; choices on the way are rewarded with the likelihood of their token. A
        share of the loss may be what outputs of the model's own are `rewarded` with (Wu et al. 2016, eq. 9), and of
        each target a share what teachers say in its place (`taught`; Hinton et al. 2015).
        """
        decoder, output, mask = model.decoder, model.decoder.output, batch.target_mask
        memory = model.encoder(batch.source, batch.source_mask)
        inputs = mix_guesses(decoder, memory, batch, share=guessed) if guessed else batch.inputs
        with choosing() as choices, watching(model, wanted=model.evenness > 0) as trace:
            features = decoder.features(inputs, memory)
        targets = batch.targets[mask]
        total, nll = output_cross_entropy(features[mask], output.weight, output.bias, targets, smoothing=smoothing)
        if taught and self.teachers:
            words = ask_teachers(self.teachers, batch, inputs)
            told = shift_targets(features[mask], output.weight, output.bias, targets, words, smoothing=smoothing)
            total = total + taught * told
        if trace is not None:
            total = total + model.evenness * measure_unevenness(trace, memory.mask, mask)
        if rewarded and self.measure is not None:
            total = (1 - rewarded) * total + rewarded * reward_loss(decoder, memory, batch, self.measure)
        steering = choices.loss(-nll, mask)  # worth nothing but its gradient
        return Loss(total + (steering - steering.detach()), nll.sum(), len(targets))

    @torch.inference_mode()
    def likelihood(self, model: Seq2Seq, store: Store, *, budget: int) -> tuple[float, int]:
        """The negative log-likelihood of all targets of a store, and how many tokens they have."""
        model.eval()
        plan = plan_batches(store.source.lengths, store.target.lengths, budget=budget, seed=0, epoch=0)
        losses = [self.loss(model, collate(store, rows)) for rows in plan]
        return sum(loss.nll.item() for loss in losses), sum(loss.tokens for loss in losses)

    def perplexity(self, model: Seq2Seq, pairs: Pairs) -> Metric:
        """How many tokens the model wavers between at each place of all given targets, on average."""
        pairs = pairs.ungroup()
        sources = self.source.prepare(pairs.source, cache=cache_folder(), encoder=model.encoder)
        store = Store(sources, pack(self.target.ids(pairs.target)), fingerprint="")
        nll, tokens = self.likelihood(model, store, budget=PREDICT_TOKENS)
        signature = f"perplexity|n:{len(pairs)}|unit:token|tokens:{tokens}|vocabulary:{len(self.target)}|end:counted"
        return Metric("perplexity", to_perplexity(nll / tokens), signature, higher_is_better=False)

    @torch.inference_mode()
    def predict(
        self,
        model: Seq2Seq,
        texts: Sequence[str],
        search: Search,
        *,
        rules: Rules | None = None,
        prefixes: Sequence[Prefix] = (),
        unknown: bool = False,
        others: Sequence[tuple["Transduction", Seq2Seq]] = (),
        watch: Watch | None = None,
    ) -> list[list[Output]]:
        """Outputs for each text, best first; a blank text has a blank output.

        A prefix for each text is what its outputs begin with; `unknown` permits the unknown mark; `others` are models
        with the same target vocabulary, each with its task, whose probabilities are averaged with the model's; a
        `watch` looks on, and knows the texts by their places.
        """
        ids = [torch.tensor(self.target.match(task.target)) for task, _ in others]
        demands = Demands(self.target, rules or Rules(), prefixes, unknown, watch)
        plan, covering = self.plan(texts, search), getattr(search, "coverage_penalty", 0.0) > 0
        results: list[list[Output]] = [[Output("", 0.0, (), (), text)] for text in texts]
        for rows in plan:
            batch = [texts[row] for row in rows]
            mine = self.begin(model, batch, covering=covering)
            theirs = [renumber(task.begin(one, batch), order) for (task, one), order in zip(others, ids, strict=True)]
            start = join([mine, *theirs])
            found = search(start.step, start.state, start.fixed, demands.limit(rows, start))
            for row, hypotheses in zip(rows, found, strict=True):
                results[row] = [self.read(hypothesis, texts[row]) for hypothesis in hypotheses]
        return results

    def plan(self, texts: Sequence[str], search: Search, *, workers: int = 1) -> list[list[int]]:
        """The texts that are decoded together, batch by batch, for so many workers; blank ones are in none."""
        rows = [row for row, text in enumerate(texts) if not self.source.is_blank(text)]
        if not rows:
            return []
        lengths = self.source.prepare([texts[row] for row in rows]).lengths
        # a beam has more to do between two steps, so it takes more hypotheses at once
        together = PREDICT_TOKENS * min(search.width, 2) // search.width
        most = PREDICT_PICTURES if self.reads_pictures else max(together, 1)  # a picture counts as one position
        batches = group_by_length(lengths, budget=most, workers=workers)
        return [[rows[place] for place in batch.tolist()] for batch in batches]

    def begin(self, model: Seq2Seq, texts: Sequence[str], *, covering: bool = False) -> Beginning:
        """Read a batch of texts; `covering` makes the step add up the attention it pays to them."""
        model.eval()
        source, mask = self.source.prepare(texts).gather(range(len(texts)))
        memory = model.encoder(source, mask)
        fixed, state = model.decoder.begin(memory)
        # as long as any target of training, and for longer sources twice their length and a little
        longest = (2 * mask.flatten(1).sum(dim=1) + 20).clamp(min=self.longest_target)
        beginning = Beginning(model.decoder.step, state, fixed, longest)
        return cover(beginning, model, memory) if covering else beginning

    def describe(self) -> str:
        """What it reads and writes, for people."""
        written = f"{len(self.target):,} target tokens"
        return f"{len(self.source):,} source and {written}" if isinstance(self.source, Tokenizer) else written

    def examine(self, pairs: Pairs) -> Pairs:
        """What outputs are compared with: a picture counts once, with all its captions, and a text with its list."""
        return pairs.group() if self.reads_pictures else pairs.group_lists()

    def settle(self, model: Seq2Seq, store: Store) -> dict[str, Any]:
        """What is learned of the final weights from held-out data: nothing."""
        return {}

    def recall(self, facts: Mapping[str, Any]) -> "Transduction":
        """The task as it was when its weights were written."""
        return replace(self, longest_target=facts.get("longest_target", 0))

    def agrees(self, text: str, reference: str) -> bool:
        """Whether a text is the reference, letter by letter."""
        return is_match(text, reference)

    def score(
        self, outputs: Sequence[Output], pairs: Pairs, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
    ) -> list[Metric]:
        """Every metric of this task; METEOR of captions where Java and its program are, and can score."""
        texts = [output.text for output in outputs]
        if not self.reads_pictures:
            return score_texts(texts, pairs.references, bleu_tokenizer=bleu_tokenizer)
        try:
            with Meteor() if explain_absence() is None else nullcontext() as meteor:
                scores = score_captions(texts, pairs.references, meteor=meteor)
        except MeteorError as error:  # hours of training are not lost for one of many scores
            log.warning("warning: %s It is left out.", error)
            scores = score_captions(texts, pairs.references)
        return [*scores, *unpenalised_bleu(texts, pairs.references)]

    def glance(self, outputs: Sequence[Output], pairs: Pairs) -> list[Metric]:
        """The metrics of this task that are quick enough for every look of a training."""
        texts = [output.text for output in outputs]
        if not self.reads_pictures:
            return glance_texts(texts, pairs.references)
        return glance_captions(texts, pairs.references)

    def read(self, hypothesis: Hypothesis, source: str) -> Output:
        """A hypothesis as text with tokens."""
        tokens = self.target.tokens(hypothesis.tokens, confidences=[exp(one) for one in hypothesis.logprobs])
        text = self.target.decode(hypothesis.tokens)
        return Output(text, hypothesis.score, tokens, hypothesis.tokens, source, hypothesis.finished)


def _come_apart(config: Config) -> bool:
    """Whether both halves begin with weights of their own, from two runs."""
    halves = {config.init.encoder, config.init.decoder} if config.init is not None else set()
    return len(halves - {None}) == 2


def to_perplexity(nll: float) -> float:
    """exp of the mean negative log-likelihood of a token, as far as there are numbers for it."""
    return exp(min(nll, 700.0))


def _learn(spec: PartSpec | None, sources: Sequence[str], side: str) -> Any:
    return part("tokenizer", spec, path=("tokens", side))().learn(sources)
