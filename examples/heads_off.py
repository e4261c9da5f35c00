# %% [markdown]
# # Heads off
#
# What does a head of a Transformer contribute? Take its attention away and measure what it costs (Michel, Levy & Neubig
# 2019, [arXiv:1905.10650](https://arxiv.org/abs/1905.10650)). We train a small Transformer to write dates in ISO form,
# switch heads off one by one, and then make whole layers attend uniformly.

# %%
import os

import seq2see
from seq2see.core.interventions import Intervention, changing
from seq2see.data.synthetic.dates import make_dates

QUICK = "SEQ2SEE_QUICK" in os.environ  # a few updates, to see that everything runs
UPDATES, PAIRS, TESTS = (4, 200, 10) if QUICK else (700, 30_000, 300)
LAYERS, HEADS = 2, 4

# %% [markdown]
# ## A small Transformer
#
# Two layers of four heads on each side.

# %%
dates = make_dates(train=PAIRS, valid=TESTS, test=TESTS, seed=1)
half = {"kind": "transformer", "size": 64, "inner_size": 128, "layers": LAYERS, "heads": HEADS, "dropout": 0.0}
run = seq2see.train(
    dates.train,
    valid=dates.valid,
    preset="transformer-tiny",
    out=f"runs/heads-{UPDATES}",
    tokens={"joint": None, "source": "characters", "target": "characters"},
    model={"encoder": half, "decoder": half, "share": []},
    train={
        "updates": UPDATES,
        "validate_every": UPDATES // 2,
        "schedule": {"kind": "cosine", "warmup": UPDATES // 10},
        "bidirectional_pretraining": 0.0,  # the preset's own; it needs one vocabulary for both sides
        "label_smoothing": 0.0,
        "average_checkpoints": 1,
        # one process: a script that starts others would need `if __name__ == "__main__":` around its top level
        "workers": 1,
        "threads": 1,
    },
    search={"kind": "greedy", "max_length": 12},  # an ISO date has ten characters
)

# %% [markdown]
# ## What is there to change
#
# Every attention has a name: its path inside the model. The encoder attends to the source (self-attention); the decoder
# attends to what it has written (self-attention) and to the encoder's states (cross-attention).

# %%
trace = run.predict("Friday, 5 March 2021").attention
names = [each.name for each in trace.maps]
for each in trace.maps:
    print(f"{each.name:40} {each.weights.shape[0]} heads, from {each.queries} to {each.keys}")


# %%
def measure(*interventions: Intervention) -> float:
    """The exact match on the test dates, in percent, with some attention changed."""
    with changing(run.model, interventions):
        outputs = [prediction.text for prediction in run.predict([written for written, _ in dates.test])]
    return 100 * sum(output == iso for output, (_, iso) in zip(outputs, dates.test, strict=True)) / TESTS


whole = measure()
print(f"exact match of the whole model: {whole:.1f} %")

# %% [markdown]
# ## One head at a time
#
# `weights="none"` sets all weights of a head to zero, so that it adds nothing. Each number is how much exact match is
# lost, in points of percent; a negative number means that the model is better without the head. One test date of 300 is
# a third of a point, so differences of two or three points may be chance.

# %%
print(f"{'lost without head':40}" + "".join(f"{head:8}" for head in range(1, HEADS + 1)))
for name in names:
    costs = [whole - measure(Intervention(name, heads=(head,), weights="none")) for head in range(1, HEADS + 1)]
    print(f"{name:40}" + "".join(f"{cost:8.1f}" for cost in costs))

# %% [markdown]
# ## A whole layer at a time
#
# `none` removes the attention of a layer. `uniform` makes it attend equally to all positions: what is lost then is what
# the layer knew about *where* to look.

# %%
print(f"{'lost in a whole layer':40}{'none':>8}{'uniform':>8}")
for name in names:
    costs = [whole - measure(Intervention(name, weights=weights)) for weights in ("none", "uniform")]
    print(f"{name:40}" + "".join(f"{cost:8.1f}" for cost in costs))

# %% [markdown]
# ## The heads themselves
#
# The image shows the mean of the heads of both cross-attentions. In a notebook, or on the page that
# `trace.save("heads.html")` writes, every head of every attention can be chosen: compare them with their costs.

# %%
print("heatmap:", trace.save("runs/heads_off.png"))
trace
