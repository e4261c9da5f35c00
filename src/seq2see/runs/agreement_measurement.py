"""Measuring how far the attention of a run agrees with leave-one-out occlusion on some of its predictions."""

import random
import time
from collections.abc import Sequence

import torch

from seq2see.core.errors import AttentionError
from seq2see.explain.attention_agreement import NO_ATTENTION, NOTHING_TO_RANK, AttentionAgreement
from seq2see.explain.occlusion import measure_drops
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

MAX_INPUTS = 24  # whose rank correlations are averaged
MAX_TRIED = 4 * MAX_INPUTS  # inputs, among them those without two parts to rank
MAX_PARTS = 32  # of an input that are left out; of more, as many are drawn
MAX_SECONDS = 20.0


def measure_agreement(
    run: Run, predictions: Sequence[Prediction], *, seconds: float = MAX_SECONDS
) -> AttentionAgreement:
    """Return the mean of Kendall's tau between attention and leave-one-out occlusion over some predictions.

    The inputs, and the parts of long ones, are drawn with the seed of the run, and no other random number is touched.

    Args:
        run: the run, of whose weights the agreement is measured.
        predictions: its predictions of held-out inputs; at most 24 inputs that differ are measured.
        seconds: the time after which no further input is begun.
    """
    known = list({each.source: each for each in predictions if each.ids}.values())
    draw, began, taus = random.Random(run.config.seed), time.monotonic(), list[float]()
    with torch.random.fork_rng(devices=[]):
        for prediction in draw.sample(known, min(MAX_TRIED, len(known))):
            if len(taus) == MAX_INPUTS or (taus and time.monotonic() - began > seconds):
                break
            try:
                trace = prediction.attention
            except AttentionError:
                return NO_ATTENTION
            if not trace.weighs_source:
                return NO_ATTENTION
            found = measure_drops(run.task, run.model, trace, prediction, max_parts=MAX_PARTS).part_agreement
            if found is not None and found.kendall is not None:
                taus.append(found.kendall)
    return AttentionAgreement(sum(taus) / len(taus), len(taus)) if taus else NOTHING_TO_RANK
