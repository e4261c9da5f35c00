"""JoeyNMT: its own `train` and `predict`, batches by tokens (it has no bucketing), no validation while it is timed.

Its batches hold much padding, so its budget is raised until an update has as many target tokens as those of the others.
Decoding is its `predict` on seq2see's weights, the sentences sorted by length. Its special marks come in another order.
"""

import random
from pathlib import Path

import torch
from joeynmt import prediction, training
from joeynmt.config import parse_global_args
from joeynmt.data import load_data
from joeynmt.model import build_model
from meter import END, MARKS, PAD, START, UNKNOWN, Meter, check_logits, read_ids, read_job, time_decoding
from safetensors.torch import load_file

ORDER = [UNKNOWN, PAD, START, END]  # of its marks, which stand before all pieces


def configure(job: dict, budget: int) -> dict:
    """Its configuration, which it wants as one tree."""
    folder = Path(job["work"])
    sides = {"level": "word", "voc_file": str(folder / "vocabulary")}
    lengths = {"max_length": 1000, "min_length": 1}
    (folder / "vocabulary").write_text("".join(f"p{n}\n" for n in range(len(MARKS), job["sizes"]["vocabulary"])))
    for name, file in (("train.src", "train_source"), ("train.trg", "train_target"), ("test.src", "test")):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(job[file])
    return {
        "name": "peer",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "test"),  # it wants one, and is never asked to look at it
            "dataset_type": "plain",
            "src": {"lang": "src", **sides, **lengths},
            "trg": {"lang": "trg", **sides, **lengths},
        },
        "training": {
            "optimizer": "adamw",
            "learning_rate": 1e-3,
            "scheduling": "warmupinversesquareroot",
            "clip_grad_norm": 1.0,
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "batch_type": "token",
            "batch_size": budget,
            "epochs": 1000,
            "logging_freq": 10**6,
            "validation_freq": 10**6,
        },
        "testing": {"batch_type": "sentence", "batch_size": 64},
        "model": MODELS[job["model"]](job["sizes"], job["dropout"]),
    }


def transformer(sizes: dict, dropout: float) -> dict:
    """Its Transformer, all three embeddings tied."""
    half = {
        "type": "transformer",
        "num_layers": sizes["layers"],
        "num_heads": sizes["heads"],
        "hidden_size": sizes["size"],
        "ff_size": sizes["inner"],
        "dropout": dropout,
        "layer_norm": "pre" if sizes["pre_norm"] else "post",
        "embeddings": {"embedding_dim": sizes["size"], "scale": True, "dropout": dropout},
    }
    return {"tied_embeddings": True, "tied_softmax": True, "encoder": dict(half), "decoder": dict(half)}


def bahdanau(sizes: dict, dropout: float) -> dict:
    """Its recurrent model with additive attention."""
    half = {"type": "recurrent", "rnn_type": "gru", "num_layers": 1, "dropout": dropout}
    embeddings = {"embedding_dim": sizes["size"], "dropout": dropout}
    encoder = {**half, "hidden_size": sizes["size"] // 2, "bidirectional": True, "embeddings": embeddings}
    decoder = {**half, "hidden_size": sizes["size"], "attention": "bahdanau", "init_hidden": "bridge"}
    return {"encoder": encoder, "decoder": {**decoder, "hidden_dropout": dropout, "embeddings": embeddings}}


MODELS = {"transformer": transformer, "bahdanau": bahdanau}


def find_budget(job: dict) -> int:
    """The budget, padding included, with which its random batches have about the wanted number of target tokens."""
    pairs = list(zip(read_ids(job["train_source"]), read_ids(job["train_target"]), strict=True))
    random.Random(1).shuffle(pairs)
    rows, longest, tokens = 0, 0, 0
    while tokens < job["budget"] and rows < len(pairs):
        source, target = map(len, pairs[rows])
        rows, longest, tokens = rows + 1, max(longest, source + 1, target + 1), tokens + target + 1
    return rows * longest


def train(job: dict) -> None:
    """Train as its command does, until the meter ends it."""
    meter, step = Meter(job), training.TrainManager._train_step

    def counted(self: training.TrainManager, batch: object) -> object:
        meter.count(batch.ntokens)
        return step(self, batch)

    training.TrainManager._train_step = counted
    Path(job["work"], "model").mkdir(exist_ok=True)
    training.train(rank=0, world_size=1, cfg=configure(job, find_budget(job)), skip_test=True)


def load(job: dict, model: torch.nn.Module) -> torch.nn.Module:
    """Its model with seq2see's weights; its output layer has no bias by itself."""
    weights = load_file(job["weights"])
    rows = torch.tensor([*ORDER, *range(len(MARKS), job["sizes"]["vocabulary"])])
    state = {"src_embed.lut.weight": weights.pop("shared.weight")[rows]}
    del weights["positions"]  # it computes the same
    bias = weights.pop("bias")[rows]
    for name, tensor in weights.items():
        for theirs, ours in [*NAMES, *OWN[name.partition(".")[0]]]:
            name = name.replace(ours, theirs)
        state[name] = tensor
    missing, unknown = model.load_state_dict(state, strict=False)
    if unknown or any("embed" not in name and "output_layer" not in name and "pe" not in name for name in missing):
        raise SystemExit(f"weights do not fit: {missing} are missing, {unknown} are unknown")
    model.decoder.output_layer.bias = torch.nn.Parameter(bias)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = job["sizes"]["eps"]
    return model.eval()


NAMES = [
    ("feed_forward.pwff_layer.0", "fc1"),
    ("feed_forward.pwff_layer.3", "fc2"),
    ("feed_forward.layer_norm", "final_layer_norm"),
    ("dec_layer_norm", "encoder_attn_layer_norm"),
    ("q_layer", "q_proj"),
    ("k_layer", "k_proj"),
    ("v_layer", "v_proj"),
    ("output_layer", "out_proj"),
    ("src_trg_att", "encoder_attn"),
]
OWN = {
    "encoder": [("layer_norm", "self_attn_layer_norm"), ("src_src_att", "self_attn")],
    "decoder": [("x_layer_norm", "self_attn_layer_norm"), ("trg_trg_att", "self_attn")],
}


def decode(job: dict) -> None:
    """Time `predict`."""
    args = parse_global_args(configure(job, job["budget"]), rank=0, mode="train")
    source, target, _, _, stream = load_data(args.data, ["stream"])
    model = load(job, build_model(args.model, source, target))
    place = torch.empty(len(MARKS), dtype=torch.long)
    place[torch.tensor(ORDER)] = torch.arange(len(MARKS))
    check_logits(job, lambda s, t: compute(model, translate(s, place), translate(t, place), place))

    def run(sentences: list[list[int]], width: int, size: int) -> list[list[int]]:
        order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
        stream.reset_cache()
        for row in order:
            stream.set_item(" ".join(f"p{number}" for number in sentences[row]))
        limit = max(job["longest"], *(2 * len(row) + 22 for row in sentences))
        options = {"beam_size": width, "beam_alpha": 1.0 if width > 1 else -1, "max_output_length": limit}
        test = args.test._replace(**options, batch_size=size, generate_unk=False)
        found = prediction.predict(model, stream, args.device, 0, compute_loss=False, args=test, autocast=args.autocast)
        outputs = [[] for _ in sentences]
        for row, pieces in zip(order, found[3], strict=True):
            outputs[row] = [int(piece[1:]) for piece in pieces if piece not in MARKS]
        return outputs

    time_decoding(job, run, sizes=(32, 64, 128))


def translate(ids: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """Our numbers as theirs."""
    return torch.where(ids < len(place), place[ids.clamp(max=len(place) - 1)], ids)


@torch.inference_mode()
def compute(model: torch.nn.Module, source: torch.Tensor, inputs: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """Logits in our order."""
    masks = {"src_mask": (source != place[PAD]).unsqueeze(1), "trg_mask": (inputs != place[PAD]).unsqueeze(1)}
    logits = model._encode_decode(source, inputs, src_length=masks["src_mask"].sum(dim=2).squeeze(1), **masks)[0]
    return torch.cat([logits[..., place], logits[..., len(place) :]], dim=2)


if __name__ == "__main__":
    job = read_job()
    torch.set_num_threads(job["threads"])
    {"training": train, "decoding": decode}[job["part"]](job)
