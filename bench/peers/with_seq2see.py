"""seq2see itself, and what the peers are given: pieces cut by its tokenizer, and weights of its Transformer.

Training is `seq2see train` from a run folder that holds its tokenizer already, so nobody's time has the learning of
subwords in it; but seq2see reads and cuts raw text, and the peers read pieces. Decoding is `Run.predict` from raw text
to raw text; that of the peers is from pieces to pieces.
"""

import json
import shutil
from pathlib import Path

import torch
from meter import END, PAD, START, Meter, read_job, time_decoding
from safetensors.torch import save_file
from torch import Tensor, nn

import seq2see
from seq2see.cli.training_report import run_training
from seq2see.config.load import Loaded, load_config
from seq2see.config.write import write_config
from seq2see.core.errors import ConfigError
from seq2see.data.checks.data_doctor import examine
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Origin
from seq2see.data.storage.packed import pad
from seq2see.models.seq2seq import Seq2Seq
from seq2see.runs.data_files import origins
from seq2see.runs.folder import RunFolder
from seq2see.runs.parallel_prediction import start_workers
from seq2see.system.processes import own_process
from seq2see.tasks.transduction import Transduction
from seq2see.training.data_parallel import ProcessGroupTrainer
from seq2see.training.prepare import holds_run, open_folder, prepare_job
from seq2see.training.request import request_config

TINY = {"size": 128, "inner_size": 256, "layers": 4, "heads": 4, "norm": "pre"}
ADDITIVE = {"reader": {"kind": "before", "score": "additive"}, "initial_state": "projected"}
POSITIONS = 1024  # as many as the peers are given


def configure(job: dict, model: str, *, dropout: float, train: dict) -> Loaded:
    """The configuration of one of the two models on the given data."""
    tiny, gru = {"kind": "transformer", "dropout": dropout, **TINY}, {"kind": "rnn", "cell": "gru", "dropout": dropout}
    halves = {
        "transformer": {"encoder": tiny, "decoder": tiny, "share": ["embeddings", "output"]},
        "bahdanau": {
            "encoder": {**gru, "embedding_size": 256, "size": 128, "directions": "both"},
            "decoder": {**gru, "embedding_size": 256, "size": 256, **ADDITIVE},
        },
    }
    base = {
        "data": {name: dict(zip(("source", "target"), job[name], strict=True)) for name in ("train", "valid")},
        "tokens": {"joint": {"kind": "bpe", "size": job["vocabulary"]}},
        "model": halves[model],
        "train": {
            "batch_tokens": job["budget"],
            "workers": job["threads"],
            "threads": 1,
            "label_smoothing": 0.1,
            **train,
        },
    }
    return load_config(base=base)


def prepare(job: dict) -> None:
    """Write what every job needs: pieces, run folders to start from, and weights to decode with."""
    work = Path(job["work"])
    run = seq2see.load(job["run"]) if job["run"] else None
    pairs, _ = read_pairs(Origin(*map(Path, job["train"])))
    loaded = {model: configure(job, model, dropout=0.3, train={"updates": 10**6}) for model in job["models"]}
    task = run.task if run else Transduction.learn(next(iter(loaded.values())).config, pairs)
    if task.source.to_json() != task.target.to_json():
        raise SystemExit("the run must have a joint tokenizer")
    rows = zip(task.source.tokenizer.ids(pairs.source), task.target.ids(pairs.target), strict=True)
    rows = [row for row in rows if max(map(len, row)) <= 512]  # as seq2see leaves longer ones out
    test, _ = read_pairs(Origin(*map(Path, job["valid"])))
    texts = {"train.source": [row[0] for row in rows], "train.target": [row[1] for row in rows]}
    texts["test.source"] = task.source.tokenizer.ids(test.source)
    for name, lines in texts.items():
        (work / name).write_text("".join(" ".join(f"p{n}" for n in line[:-1]) + "\n" for line in lines))
    (work / "test.text").write_text(json.dumps(list(test.source)))
    for model, settings in loaded.items():
        seed = RunFolder(work / f"seed-{model}")
        shutil.rmtree(seed.path, ignore_errors=True)
        seed.create(write_config(settings.config, heading="where every timed training starts", remarks={}))
        seed.write_task(task)
    facts = {"vocabulary": len(task.source.tokenizer), "longest": max(len(row[1]) for row in rows), "pairs": len(rows)}
    if job["decode"]:
        run = run or train_weights(job, task)
        facts |= export(run.model, task, test.source, work)
    Path(job["result"]).write_text(json.dumps({**facts, "folder": str(run.folder.path) if run else None}))


def train_weights(job: dict, task: Transduction) -> seq2see.Run:
    """Train until outputs have the length of sentences; the same folder again is not trained again."""
    updates = job["prepare"]
    train = {"updates": updates, "validate_every": updates, "learning_rate": 2e-3}
    train["schedule"] = {"kind": "cosine", "warmup": max(updates // 10, 1)}
    loaded = configure(job, "transformer", dropout=0.1, train=train)
    folder = RunFolder(Path(job["work"]) / f"run-{updates}")
    try:
        again = holds_run(folder, loaded.config)
    except ConfigError:  # other data or settings than last time
        shutil.rmtree(folder.path)
        again = False
    if not again:
        folder.create(write_config(loaded.config, heading="the weights that are decoded with", remarks={}))
        folder.write_task(task)
    fitted = prepare_job(loaded.config, folder, examine(origins(loaded.config)), near=[])
    open_folder(fitted, folder.config_file.read_text())
    for _ in fitted.loop.run():
        pass
    return seq2see.load(folder.path)


def export(model: Seq2Seq, task: Transduction, texts: list[str], work: Path) -> dict:
    """Write the weights under the names that BART has made common, and logits to compare with."""
    encoder, decoder = model.encoder, model.decoder
    if not torch.equal(encoder.embed.weight, decoder.output.weight):
        raise SystemExit("the embeddings of the run must be tied on all three sides")
    tensors = {"shared.weight": encoder.embed.weight, "bias": decoder.output.bias}
    tensors["positions"] = encoder.position(0, POSITIONS)
    for half, name in ((encoder, "encoder"), (decoder, "decoder")):
        tensors |= name_linear(half.norm, f"{name}.layer_norm")
        for number, layer in enumerate(half.layers):
            tensors |= export_layer(layer, f"{name}.layers.{number}")
    save_file({key: value.detach().clone() for key, value in tensors.items()}, work / "weights.safetensors")
    source, mask = pad(task.source.tokenizer.ids(texts[:6]))
    inputs = torch.cat([torch.full((len(source), 1), START), source.flip(0)], dim=1)
    inputs = inputs.masked_fill(inputs == END, PAD)
    with torch.inference_mode():
        logits = model.eval()(source, mask, inputs)
    save_file({"source": source, "inputs": inputs, "logits": logits}, work / "reference.safetensors")
    layer = encoder.layers[0]
    sizes = {
        "layers": len(encoder.layers),
        "heads": layer.self_attention.heads,
        "inner": layer.feed_forward.expand.out_features,
    }
    norms = {"pre_norm": layer.self_norm.before, "eps": layer.self_norm.norm.eps}
    return {"sizes": {**sizes, **norms, "size": encoder.memory_size, "vocabulary": len(task.source.tokenizer)}}


def export_layer(layer: nn.Module, name: str) -> dict[str, Tensor]:
    """One layer of either half."""
    sublayers = {"own": "self_attn", "cross": "encoder_attn"}
    tensors = name_linear(layer.feed_forward.expand, f"{name}.fc1") | name_linear(
        layer.feed_forward.contract, f"{name}.fc2"
    )
    tensors |= name_linear(layer.feed_forward_norm.norm, f"{name}.final_layer_norm")
    for ours, theirs in sublayers.items():
        if hasattr(layer, ours):
            heads, place = getattr(layer, ours), f"{name}.{theirs}"
            tensors |= name_linear(heads.query, f"{place}.q_proj") | name_linear(heads.output, f"{place}.out_proj")
            for part in ("weight", "bias"):
                halves = getattr(heads.memory, part).chunk(2)
                tensors |= {f"{place}.{side}_proj.{part}": half for side, half in zip("kv", halves, strict=True)}
            tensors |= name_linear(getattr(layer, f"around_{ours}").norm, f"{place}_layer_norm")
    return tensors


def name_linear(module: nn.Module, name: str) -> dict[str, Tensor]:
    """Weight and bias of a module under another name."""
    return {f"{name}.{part}": tensor for part, tensor in module.named_parameters()}


def train(job: dict) -> None:
    """`seq2see train`, a process of one thread for each core as it would choose by itself, until the meter ends it."""
    meter, work = Meter(job), ProcessGroupTrainer.work

    def counted(*given: object, **named: object) -> object:
        sums = work(*given, **named)
        meter.count(sums.tokens)
        return sums

    ProcessGroupTrainer.work = counted
    folder = Path(job["work"]) / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(job["seed"], folder)
    run_training(request_config(folder / "config.yaml", folder=folder, held_out={}, settings=()))


def decode(job: dict) -> None:
    """Time `predict`, in one process of several threads or in several of one thread each."""
    texts, workers = json.loads(Path(job["text"]).read_text()), job["threads"] if job["workers"] else 1
    with start_workers(seq2see.load(job["run"]), workers) as run:

        def predict(sentences: list[list[int]], width: int, _: int) -> list[list[int]]:
            return [list(found.ids) for found in run.predict(texts[: len(sentences)], beam=width)]

        time_decoding(job, predict)


if __name__ == "__main__":
    own_process()  # as the command does
    job = read_job()
    torch.set_num_threads(job["threads"])
    {"prepare": prepare, "training": train, "decoding": decode}[job["part"]](job)
