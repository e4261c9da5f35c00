"""The objective of a configuration, the same in every process of a training."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from seq2see.config.schema import Config, Train
from seq2see.core.errors import ConfigError
from seq2see.data.modalities.label_set import LabelSet
from seq2see.models.classifier import Classifier
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.attention_coverage import AttentionCoverage
from seq2see.objectives.bidirectional_pretraining import BidirectionalPretraining
from seq2see.objectives.distillation import Distillation
from seq2see.objectives.forward_pass import LossTerm
from seq2see.objectives.hard_attention import HardAttention
from seq2see.objectives.label_cross_entropy import BinaryCrossEntropy, LabelCrossEntropy
from seq2see.objectives.likelihood import InputPolicy, Likelihood, teacher_forcing
from seq2see.objectives.minimum_risk import MinimumRisk, Reward
from seq2see.objectives.objective import ModelT, Objective
from seq2see.objectives.occlusion_agreement import OcclusionAgreement
from seq2see.objectives.scheduled_sampling import ScheduledSampling


@runtime_checkable
class TaskWithObjective(Protocol[ModelT]):
    """What `build_objective` needs of a task."""

    def objective(self, train: Train, *, teachers: Sequence[Seq2Seq], reward: Reward | None) -> Objective[ModelT]:
        """Return the training objective for the models that this task builds.

        Args:
            train: the section `train` of the configuration.
            teachers: the models whose probabilities are distilled; none without distillation.
            reward: the reward of minimum risk training; None without it.
        """
        ...


def build_objective(
    config: Config,
    task: TaskWithObjective[ModelT],
    *,
    teachers: Sequence[Seq2Seq] = (),
    reward: Reward | None = None,
) -> Objective[ModelT]:
    """Return the training objective of a configuration; every process of a training builds it with this function.

    Args:
        config: the configuration of the run; its section `train` says what is minimised.
        task: knows whether texts are written or labels are chosen.
        teachers: the models of the runs that `train.distillation.teachers` names.
        reward: the reward that `train.minimum_risk.reward` names, from `minimum_risk.build_reward`; None without
            minimum risk training.

    Raises:
        ConfigError: if teachers or reward do not fit the configuration.
    """
    train = config.train
    named = [] if train.distillation is None else train.distillation.teachers
    if len(teachers) != len(named):
        raise ConfigError(
            f"an objective must have the teachers that train.distillation names, {len(named)}; got {len(teachers)}; "
            "open the runs that it names, and no others.",
            path=("train", "distillation"),
        )
    if (reward is None) != (train.minimum_risk is None):
        raise ConfigError(
            "an objective must have a reward if there is train.minimum_risk, and only then; got "
            f"{'none' if reward is None else 'one'}; build it with build_reward from the training data.",
            path=("train", "minimum_risk"),
        )
    return task.objective(train, teachers=teachers, reward=reward)


def build_sequence_objective(
    train: Train, *, teachers: Sequence[Seq2Seq] = (), reward: Reward | None = None
) -> Objective[Seq2Seq]:
    """Return the objective of a model that writes texts: the likelihood, and the terms that the configuration asks for.

    The terms are added in this order: distillation, attention coverage, minimum risk, hard attention.

    Args:
        train: the section `train` of the configuration.
        teachers: the models whose probabilities are distilled, if there is distillation.
        reward: the reward of minimum risk training; without it there is no minimum risk term.
    """
    always: list[LossTerm] = []
    if train.doubly_stochastic_attention:
        always.append(AttentionCoverage(weight=train.doubly_stochastic_attention))
    terms = list(always)
    if train.distillation is not None:
        terms.insert(0, Distillation(teachers=teachers, weight=train.distillation.weight))
    if train.minimum_risk is not None and reward is not None:
        risk = train.minimum_risk
        terms.append(MinimumRisk(reward=reward, weight=risk.weight, start=risk.start, updates=train.updates))
    forward = _build_likelihood(train, terms)
    if not train.bidirectional_pretraining:
        return forward
    # teachers and rewards are from source to target, so the other direction has the likelihood alone
    return BidirectionalPretraining(
        forward=forward,
        backward=_build_likelihood(train, always),
        share=train.bidirectional_pretraining,
        updates=train.updates,
    )


def _build_likelihood(train: Train, terms: Sequence[LossTerm]) -> Likelihood:
    """Return the likelihood with some terms; the term of hard attention comes last, whatever the others are."""
    inputs: InputPolicy = teacher_forcing
    if train.scheduled_sampling:
        inputs = ScheduledSampling(share=train.scheduled_sampling, updates=train.updates)
    return Likelihood(smoothing=train.label_smoothing, inputs=inputs, terms=[*terms, HardAttention()])


def build_label_objective(train: Train, labels: LabelSet) -> Objective[Classifier]:
    """Return the objective of a model that chooses labels: one label a source, or several.

    Args:
        train: the section `train` of the configuration.
        labels: the labels to choose from; they also say whether a source may have several, and how rare each label is.
    """
    kind = BinaryCrossEntropy if labels.many else LabelCrossEntropy
    weights = labels.balance if train.class_weights == "balanced" else None
    objective = kind(smoothing=train.label_smoothing, class_weights=weights)
    if not train.occlusion_agreement:
        return objective
    return OcclusionAgreement(base=objective, weight=train.occlusion_agreement, updates=train.updates)
