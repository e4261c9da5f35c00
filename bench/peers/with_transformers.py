"""Hugging Face transformers: its pre-norm Transformer (M2M100) built from a config, SDPA attention, nothing of the hub.

Training is a plain loop: batches by tokens with neighbours in length together, fused AdamW, gradients clipped.
Decoding is `generate` with its cache on seq2see's weights, sorted by length.
"""

import os
import random

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import torch.nn.functional as F
import transformers
from meter import END, PAD, START, UNKNOWN, Meter, batches_by_length, check_logits, read_ids, read_job, time_decoding
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


def build(sizes: dict, dropout: float) -> transformers.PreTrainedModel:
    """The model, with weights of its own."""
    marks = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END, "decoder_start_token_id": START}
    halves = {f"{half}_{name}": sizes[key] for half in ("encoder", "decoder") for name, key in NAMES.items()}
    rates = {"dropout": dropout, "activation_dropout": 0.0, "attention_dropout": 0.0}
    config = transformers.M2M100Config(
        vocab_size=sizes["vocabulary"], d_model=sizes["size"], **halves, **rates, **marks, **NO_LAYERDROP
    )
    model = transformers.M2M100ForConditionalGeneration(config)
    model.set_attn_implementation("sdpa")
    return model


NAMES = {"layers": "layers", "attention_heads": "heads", "ffn_dim": "inner"}
NO_LAYERDROP = {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}


def load(job: dict) -> transformers.PreTrainedModel:
    """The model with seq2see's weights; the names of the exported weights are those of this architecture."""
    if not job["sizes"]["pre_norm"]:
        raise SystemExit("this driver is for pre-norm models, and the weights are of a post-norm one")
    weights = load_file(job["weights"])
    bias, positions = weights.pop("bias"), weights.pop("positions")
    model = build(job["sizes"], dropout=0.0).eval()
    model.lm_head = torch.nn.Linear(*reversed(weights["shared.weight"].shape))
    model.load_state_dict({f"model.{name}": tensor for name, tensor in weights.items()}, strict=False)
    model.lm_head.load_state_dict({"weight": weights["shared.weight"], "bias": bias})
    for half in (model.model.encoder, model.model.decoder):
        half.embed_tokens.weight = model.model.shared.weight
        half.embed_positions.weights = F.pad(positions, (0, 0, 1, 0))  # its first row is that of padding
    return model


def pad(rows: list[list[int]], ending: int = END) -> Tensor:
    """Rows of ids with the end mark, as one tensor."""
    return pad_sequence([torch.tensor([*row, ending]) for row in rows], batch_first=True, padding_value=PAD)


def train(job: dict) -> None:
    """Update for update until the meter ends it."""
    pairs = list(zip(read_ids(job["train_source"]), read_ids(job["train_target"]), strict=True))
    model = build(job["sizes"], job["dropout"]).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0, fused=True)
    meter = Meter(job)
    while True:
        for batch in plan(pairs, job["budget"]):
            source, target = (pad(list(side)) for side in zip(*batch, strict=True))
            inputs = F.pad(target[:, :-1], (1, 0), value=START)
            logits = model(input_ids=source, attention_mask=source != PAD, decoder_input_ids=inputs).logits
            loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=0.1)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            meter.count(int((target != PAD).sum()))
            optimizer.step()
            optimizer.zero_grad()


def plan(pairs: list, budget: int) -> list[list]:
    """Batches of neighbours in length whose longer side is within the budget, in random order."""
    ordered = sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0])))
    batches, longest = [[]], 0
    for pair in ordered:
        longest = max(longest, 1 + len(pair[0]), 1 + len(pair[1]))
        if (len(batches[-1]) + 1) * longest > budget and batches[-1]:
            batches.append([])
            longest = 1 + max(map(len, pair))
        batches[-1].append(pair)
    random.Random(1).shuffle(batches)
    return batches


def decode(job: dict) -> None:
    """Time `generate`."""
    model = load(job)
    with torch.inference_mode():
        check_logits(job, lambda s, t: model(input_ids=s, attention_mask=s != PAD, decoder_input_ids=t).logits)

    @torch.inference_mode()
    def run(sentences: list[list[int]], width: int, size: int) -> list[list[int]]:
        outputs = [[] for _ in sentences]
        for rows in batches_by_length(sentences, size // width):
            source = pad([sentences[row] for row in rows])
            limit = max(job["longest"], 2 * source.shape[1] + 20)
            found = model.generate(
                source,
                attention_mask=(source != PAD).long(),
                num_beams=width,
                do_sample=False,
                max_new_tokens=limit,
                early_stopping=width > 1,
                length_penalty=1.0,
                suppress_tokens=[PAD, START, UNKNOWN],
            )
            for row, output in zip(rows, found.tolist(), strict=True):
                outputs[row] = output
        return outputs

    time_decoding(job, run, sizes=(2048, 4096, 8192))


def main() -> None:
    """Do the job."""
    job = read_job()
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    transformers.utils.logging.set_verbosity_error()
    {"training": train, "decoding": decode}[job["part"]](job)


main()
