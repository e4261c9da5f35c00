# %% [markdown]
# # A score function of your own
#
# A score says how well a query fits a key. seq2see does the rest: softmax, masks, the weighted sum, the drawing. A new
# one is the Gaussian score $-|q - W k|^2 / 2\sigma^2$. It is in `own_scores.py`, because a configuration names code of
# your own as `file:Class`.

# %%
import inspect
import os

import own_scores

import seq2see
from seq2see.data.synthetic.dates import make_dates
from seq2see.testing import check_score

QUICK = "SEQ2SEE_QUICK" in os.environ  # a few updates, to see that everything runs
UPDATES, PAIRS, TESTS = (4, 200, 10) if QUICK else (300, 20_000, 500)
print(inspect.getsource(own_scores.Gaussian))

# %% [markdown]
# ## The laws
#
# Every score must keep a few laws: weights sum to one, masked keys weigh nothing and change nothing, permuting the keys
# together with their values changes nothing, gradients are right. `check_score` tries them all.

# %%
check_score("own_scores:Gaussian")
print("the Gaussian score keeps all laws")

# %% [markdown]
# A score can look right and be wrong. This one divides by the standard deviation over all keys, so padding changes the
# result: the same sentence would be translated differently beside a longer one. The laws find it.

# %%
try:
    check_score("own_scores:Standardised")
except AssertionError as error:
    print(str(error).splitlines()[0])

# %% [markdown]
# ## A short training
#
# The score has a name in the configuration, so every model that attends can use it; an option such as `sigma` stands
# beside the name. We compare it with Bahdanau's additive score, on dates in many languages.

# %%
dates = make_dates(train=PAIRS, valid=TESTS, test=TESTS, seed=1)
gaussian = {"kind": "own_scores:Gaussian", "sigma": 2.0}
runs = {}
for name, score in (("gaussian", gaussian), ("additive", "additive")):
    runs[name] = seq2see.train(
        dates.train,
        valid=dates.valid,
        preset="bahdanau2015",
        out=f"runs/score-{name}-{UPDATES}",
        model={"encoder.size": 64, "decoder.size": 64, "decoder.reader.score": score},
        # one process: a script that starts others would need `if __name__ == "__main__":` around its top level
        train={"updates": UPDATES, "validate_every": UPDATES // 2, "workers": 1, "threads": 1},
        search={"kind": "greedy", "max_length": 12},  # an ISO date has ten characters
    )

# %%
written, iso = zip(*dates.test, strict=True)
for name, run in runs.items():
    outputs = [prediction.text for prediction in run.predict(list(written))]
    exact = sum(output == wanted for output, wanted in zip(outputs, iso, strict=True)) / TESTS
    print(f"{name}: exact match {100 * exact:.1f} % of {TESTS} test dates after {UPDATES} updates")

# %% [markdown]
# ## Its attention
#
# Nothing had to be done to see it: the weights of every score are traced alike.

# %%
prediction = runs["gaussian"].predict("Friday, 5 March 2021")
print(prediction.source, "->", prediction.text)
print("heatmap:", prediction.attention.save("runs/score_of_your_own.png"))
prediction.attention
