"""Training objectives: functions of a model, a batch and the number of the update, with the loss as their value.

`build.build_objective` makes the objective of a configuration, in every process of a training. `likelihood` is the loss
of sequence-to-sequence models, and `label_cross_entropy` that of classifiers. `scheduled_sampling` chooses the inputs
of a likelihood; `distillation`, `attention_coverage`, `minimum_risk` and `hard_attention` are further terms of it;
`bidirectional_pretraining` chooses between two objectives. `occlusion_agreement` is a term of a classifier's loss. A
new term is one file with one `LossTerm`, and one line in `build`. Objectives hold their own options and never change;
tasks and networks hold nothing of a loss.
"""

__all__ = [
    "attention_coverage",
    "bidirectional_pretraining",
    "build",
    "distillation",
    "forward_pass",
    "hard_attention",
    "label_cross_entropy",
    "likelihood",
    "minimum_risk",
    "objective",
    "occlusion_agreement",
    "scheduled_sampling",
]
