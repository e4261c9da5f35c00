"""Eole: its own trainer and inference engine, batches by tokens from sorted buckets of the whole data.

What costs time and is not asked for is off: validation, checkpoints, worker processes, the log of attention entropy.
Decoding is its engine on seq2see's weights; it does not end a source with the end mark by itself, so it is given one.
"""

from pathlib import Path

import torch
from eole import trainer as trainers
from eole.config.run import PredictConfig, TrainConfig
from eole.inference_engine import InferenceEnginePY
from eole.models.model import get_model_class
from eole.models.model_saver import TrainingModelSaver
from eole.train_single import TrainingInitializer
from eole.train_single import main as run_training
from meter import END, MARKS, PAD, START, UNKNOWN, Meter, check_logits, read_ids, read_job, time_decoding
from safetensors.torch import load_file


def configure(job: dict) -> TrainConfig:
    """Its configuration, which it wants as one tree."""
    folder = Path(job["work"])
    pieces = [*MARKS, *(f"p{number}" for number in range(len(MARKS), job["sizes"]["vocabulary"]))]
    (folder / "vocabulary").write_text("".join(f"{piece}\t1\n" for piece in pieces))
    pairs = len(Path(job["train_source"]).read_text().splitlines())
    names = {"bos": START, "eos": END, "pad": PAD, "unk": UNKNOWN}
    return TrainConfig(
        src_vocab=str(folder / "vocabulary"),
        share_vocab=True,
        vocab_size_multiple=1,
        **{f"{name}_token": MARKS[number] for name, number in names.items()},
        data={"all": {"path_src": job["train_source"], "path_tgt": job["train_target"], "transforms": []}},
        seed=1,
        report_every=10**6,
        model=MODELS[job["model"]](job["sizes"]),
        training={
            "optim": "adamw",
            "learning_rate": 1e-3,
            "max_grad_norm": 1.0,
            "label_smoothing": 0.1,
            "dropout": [job["dropout"]],
            "attention_dropout": [0.0],
            "normalization": "tokens",
            "batch_type": "tokens",
            "batch_size": job["budget"],
            "bucket_size": pairs,
            "num_workers": 0,
            "train_steps": 10**6,
            "valid_steps": 10**6,
            "save_checkpoint_steps": 10**6,
            "log_attention_entropy": False,
            "param_init_method": "xavier_uniform",
            "model_path": str(folder / "model"),
            "gpu_ranks": [],
        },
    )


def transformer(sizes: dict) -> dict:
    """Its Transformer, which is pre-norm, all three embeddings tied."""
    if not sizes["pre_norm"]:
        raise SystemExit("its decoder is pre-norm only, and the weights are of a post-norm model")
    return {
        "architecture": "transformer",
        "layers": sizes["layers"],
        "heads": sizes["heads"],
        "hidden_size": sizes["size"],
        "transformer_ff": sizes["inner"],
        "norm_eps": sizes["eps"],
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {"word_vec_size": sizes["size"], "position_encoding_type": "SinusoidalInterleaved"},
    }


def bahdanau(sizes: dict) -> dict:
    """Its recurrent model with additive ("mlp") attention."""
    half = {"rnn_type": "GRU", "layers": 1, "hidden_size": sizes["size"]}
    return {
        "architecture": "custom",
        "embeddings": {"word_vec_size": sizes["size"]},
        "encoder": {"encoder_type": "brnn", **half},
        "decoder": {"decoder_type": "rnn", "global_attention": "mlp", **half},
    }


MODELS = {"transformer": transformer, "bahdanau": bahdanau}


def train(job: dict) -> None:
    """Train as its command does, until the meter ends it."""
    meter, step = Meter(job), trainers.Trainer._train_step

    def counted(self: trainers.Trainer, batches: list, *rest: object, **named: object) -> None:
        meter.count(sum(int((batch["tgt"][:, 1:] != PAD).sum()) for batch in batches))
        step(self, batches, *rest, **named)

    trainers.Trainer._train_step = counted
    run_training(configure(job), device_id=-1)


def convert(job: dict) -> str:
    """A model folder of its own with seq2see's weights."""
    context = TrainingInitializer(configure(job)).initialize()
    config = context.config
    model = get_model_class(config.model).for_training(config.model, context.vocabs, config.training, device_id=-1)
    weights = load_file(job["weights"])
    del weights["positions"]  # it computes the same
    state = {"src_emb.embeddings.weight": weights.pop("shared.weight"), "generator.bias": weights.pop("bias")}
    for name, tensor in weights.items():
        for theirs, ours in NAMES:
            name = name.replace(ours, theirs)
        state[name] = tensor
    missing, unknown = model.load_state_dict(state, strict=False)
    others = ("tgt_emb.embeddings.weight", "generator.weight", "pe.pe", "layer_scalar")  # tied, or constant
    if unknown or [name for name in missing if not name.endswith(others)]:
        raise SystemExit(f"weights do not fit: {missing} are missing, {unknown} are unknown")
    check_logits(job, lambda s, t: compute(model.eval(), s, t))
    saver = TrainingModelSaver(config.training.model_path, model, config, context.vocabs)
    saver._save_optimizer = lambda: None
    saver.save(1)
    return config.training.model_path


@torch.inference_mode()
def compute(model: torch.nn.Module, source: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Logits; it cuts the last token off what it is given."""
    target = torch.nn.functional.pad(inputs, (0, 1), value=PAD)
    return model.generator(model(source, target, (source != PAD).sum(dim=1)).dec_out)


NAMES = [
    ("precontext_layernorm", "encoder_attn_layer_norm"),
    ("input_layernorm", "self_attn_layer_norm"),
    ("post_attention_layernorm", "final_layer_norm"),
    ("transformer_layers", "layers"),
    ("context_attn", "encoder_attn"),
    ("linear_query", "q_proj"),
    ("linear_keys", "k_proj"),
    ("linear_values", "v_proj"),
    ("final_linear", "out_proj"),
    ("mlp.gate_up_proj", "fc1"),
    ("mlp.down_proj", "fc2"),
]


def decode(job: dict) -> None:
    """Time its engine."""
    options = {"model_path": [convert(job)], "src": job["test"], "max_length_ratio": 0.0, "length_penalty": "avg"}
    limit = max(job["longest"], *(2 * len(row) + 22 for row in read_ids(job["test"])))
    engines = {}

    def run(sentences: list[list[int]], width: int, size: int) -> list[list[int]]:
        if width not in engines:  # while it warms up
            search = {"beam_size": width, "max_length": limit, "ban_unk_token": True, "batch_type": "tokens"}
            engines[width] = InferenceEnginePY(PredictConfig(**options, **search))
        engines[width].config.update(batch_size=size // width)
        pieces = [" ".join([*(f"p{number}" for number in row), MARKS[END]]) for row in sentences]
        _, _, found = engines[width].infer_list(pieces)
        return [[int(piece[1:]) for piece in row[0].split() if piece not in MARKS] for row in found]

    time_decoding(job, run, sizes=(2048, 4096, 8192))


if __name__ == "__main__":
    job = read_job()
    torch.set_num_threads(job["threads"])
    {"training": train, "decoding": decode}[job["part"]](job)
