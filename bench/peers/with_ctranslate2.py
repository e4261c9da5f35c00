"""CTranslate2 on seq2see's weights: two workers of one thread each, which is its fastest on two cores."""

import tempfile

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from meter import END, MARKS, PAD, START, read_job, time_decoding
from safetensors.numpy import load_file


def convert(job: dict) -> TransformerSpec:
    """The exported weights as a specification; linear layers on the same input are joined."""
    weights, sizes = load_file(job["weights"]), job["sizes"]
    spec = TransformerSpec.from_config((sizes["layers"], sizes["layers"]), sizes["heads"], pre_norm=sizes["pre_norm"])
    for half, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        embeddings = half.embeddings[0] if name == "encoder" else half.embeddings
        embeddings.weight = weights["shared.weight"]
        half.position_encodings.encodings = weights["positions"]
        if sizes["pre_norm"]:
            set_norm(half.layer_norm, weights, f"{name}.layer_norm")
        for number, layer in enumerate(half.layer):
            set_layer(layer, weights, f"{name}.layers.{number}")
    set_linear(spec.decoder.projection, {"p.weight": weights["shared.weight"], "p.bias": weights["bias"]}, "p")
    for add in (spec.register_source_vocabulary, spec.register_target_vocabulary):
        add([*MARKS, *(f"p{number}" for number in range(len(MARKS), sizes["vocabulary"]))])
    return spec


def set_layer(layer: object, weights: dict, name: str) -> None:
    """One layer of either half."""
    joint = [f"{name}.self_attn.{part}_proj" for part in "qkv"]
    set_linear(layer.self_attention.linear[0], weights, *joint)
    set_linear(layer.self_attention.linear[1], weights, f"{name}.self_attn.out_proj")
    set_norm(layer.self_attention.layer_norm, weights, f"{name}.self_attn_layer_norm")
    if hasattr(layer, "attention"):
        keys = [f"{name}.encoder_attn.{part}_proj" for part in "kv"]
        set_linear(layer.attention.linear[0], weights, f"{name}.encoder_attn.q_proj")
        set_linear(layer.attention.linear[1], weights, *keys)
        set_linear(layer.attention.linear[2], weights, f"{name}.encoder_attn.out_proj")
        set_norm(layer.attention.layer_norm, weights, f"{name}.encoder_attn_layer_norm")
    set_linear(layer.ffn.linear_0, weights, f"{name}.fc1")
    set_linear(layer.ffn.linear_1, weights, f"{name}.fc2")
    set_norm(layer.ffn.layer_norm, weights, f"{name}.final_layer_norm")


def set_linear(linear: object, weights: dict, *names: str) -> None:
    """Linear layers, one below the other."""
    linear.weight = np.concatenate([weights[f"{name}.weight"] for name in names])
    linear.bias = np.concatenate([weights[f"{name}.bias"] for name in names])


def set_norm(norm: object, weights: dict, name: str) -> None:
    """A layer normalisation."""
    norm.gamma, norm.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def main() -> None:
    """Convert, load, time; whether the outputs are those of seq2see is seen in the table."""
    job = read_job()
    spec = convert(job)
    spec.validate()
    spec.optimize(quantization=None)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        translator = ctranslate2.Translator(
            folder, compute_type=job["precision"], inter_threads=job["threads"], intra_threads=1
        )

    def run(sentences: list[list[int]], width: int, size: int) -> list[list[int]]:
        pieces = [[*(f"p{number}" for number in row), MARKS[END]] for row in sentences]
        found = translator.translate_batch(
            pieces,
            beam_size=width,
            max_batch_size=size,  # sentences, sorted by length; every worker takes one batch after the other
            max_input_length=0,
            max_decoding_length=max(job["longest"], *(2 * len(row) + 22 for row in sentences)),
            disable_unk=True,
            suppress_sequences=[[MARKS[PAD]], [MARKS[START]]],
        )
        return [[int(piece[1:]) for piece in row.hypotheses[0] if piece not in MARKS] for row in found]

    time_decoding(job, run, sizes=(16, 32, 64))


main()
