# %% [markdown]
# # Train, predict, inspect
#
# The whole way in Python: a list of pairs, a trained model, its predictions, its attention and its score. The model
# reads numbers in words and writes them in digits: `two thousand and seventeen` becomes `2017`.

# %%
import os
from random import Random

import seq2see

QUICK = "SEQ2SEE_QUICK" in os.environ  # a few updates, to see that everything runs
UPDATES, TESTS = (4, 20) if QUICK else (200, 500)

# %% [markdown]
# ## Data
#
# Data is a list of pairs (source, target). A file, a data frame or a data set of Hugging Face would do as well.

# %%
ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spell(number: int) -> str:
    """A number below 10,000 in English words."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10 - 2] + (f" {ONES[number % 10]}" if number % 10 else "")
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    head, rest = f"{spell(number // unit)} {name}", number % unit
    return head if not rest else f"{head} and {spell(rest)}" if rest < 100 else f"{head} {spell(rest)}"


pairs = [(spell(number), str(number)) for number in range(10_000)]
Random(1).shuffle(pairs)
train, test = pairs[TESTS:], pairs[:TESTS]
print(*train[:3], sep="\n")

# %% [markdown]
# ## Training
#
# `preset` names the paper to start from; every key of the configuration can be changed. Sources are read word by word,
# and targets are written digit by digit. The same call again returns the finished run, or goes on where it was stopped.

# %%
run = seq2see.train(
    train,
    preset="bahdanau2015",
    out=f"runs/numbers-{UPDATES}",
    tokens={"source": "words", "target": "characters"},
    # one process: a script that starts others would need `if __name__ == "__main__":` around its top level
    train={"updates": UPDATES, "validate_every": UPDATES // 4, "workers": 1, "threads": 1},
)

# %% [markdown]
# ## Prediction
#
# A prediction has a text, a score and, with a beam, further candidates. The score is what the beam ranks by: with its
# usual length penalty, the log-probability divided by the number of tokens, the end mark included.

# %%
prediction = run.predict("four thousand and seventy two", beam=5, n_best=3)
print(prediction.text, f"score {prediction.score:.3f}")
for other in prediction.alternatives:
    print("  or", other.text, f"score {other.score:.3f}")

# %% [markdown]
# ## Evaluation
#
# No number of the test is in the training data.

# %%
evaluation = run.evaluate(test, workers=1)
for metric in evaluation.metrics:
    print(f"{metric.name:20} {metric.value:7.2f}")

# %% [markdown]
# ## Attention
#
# Each digit looks at the word that says it. The 0 has no word of its own: see where the model looks to know that one is
# missing. In a notebook the attention shows itself; in a script it is saved as an image, or as a page to click through
# (`.html`).

# %%
print("heatmap:", prediction.attention.save("runs/train_and_inspect.png"))
prediction.attention
