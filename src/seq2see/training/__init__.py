"""Training: the calls train, fit and resume, preparing a run, the loop and its events, schedules and optimisers.

`api` and `events` are public. The loop yields events and prints nothing; `progress` shows them.
"""

__all__ = [
    "api",
    "arguments",
    "batch_order",
    "checkpoint_retention",
    "data_parallel",
    "description",
    "distillation_teachers",
    "ema",
    "events",
    "image_plan",
    "interrupts",
    "job",
    "learner",
    "loop",
    "metrics_log",
    "muon",
    "outcome",
    "parallel_plan",
    "plan",
    "prepare",
    "pretrained",
    "pretrained_embeddings",
    "process_group",
    "progress",
    "request",
    "schedules",
    "token_plan",
    "training_data",
    "training_state",
    "validation",
    "worker_process",
    "worker_requests",
]
