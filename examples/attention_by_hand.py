# %% [markdown]
# # Attention by hand
#
# Attention is a soft lookup in a dictionary. A query is compared with every key, the scores become weights that sum to
# one, and the result is the weighted sum of the values:
#
# $$\mathrm{context} = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$
#
# (Vaswani et al. 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), equation 1.) Here we compute it in NumPy,
# then with `seq2see.attend`, and look at the weights.

# %%
import numpy as np
import torch

import seq2see

# %% [markdown]
# ## Queries, keys and values
#
# The source is the sentence "the cat sat here". Each word has a key that says what it is: a being, an action, a place.
# Three questions are the queries. A trained model learns such vectors. Ours are written by hand, so that every number
# can be checked.

# %%
words = ["the", "cat", "sat", "here"]
questions = ["who?", "what?", "where?"]

keys = np.array(
    [  # being, action, place
        [0.0, 0.0, 0.0],  # the
        [4.0, 0.0, 0.0],  # cat
        [1.0, 4.0, 0.0],  # sat: an action, but one that only beings do
        [0.0, 0.0, 4.0],  # here
    ]
)
query = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
values = np.array([[0.0], [10.0], [20.0], [30.0]])  # one number a word, so that we see which word was read

# %% [markdown]
# ## Scores, softmax, weighted sum
#
# Row $t$ of the scores compares query $t$ with every key. The division by $\sqrt{d}$ keeps the scores of wide vectors
# in the range where the softmax still has a gradient.

# %%
scores = query @ keys.T / np.sqrt(keys.shape[1])
print(scores.round(2))


# %%
def softmax(scores: np.ndarray) -> np.ndarray:
    # subtracting the largest score changes nothing in the result and keeps exp() from overflowing
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


weights = softmax(scores)
context = weights @ values
for question, row, result in zip(questions, weights, context, strict=True):
    print(f"{question:6}  weights {row.round(2)}  sum {row.sum():.1f}  context {result[0]:.1f}")

# %% [markdown]
# Every row sums to one. "who?" reads mostly "cat", but a little of every other word: soft attention mixes values and
# never picks exactly one.
#
# ## The same with seq2see
#
# `seq2see.attend` takes tensors of PyTorch and returns the context, and with `weights=True` the weights as well.

# %%
tensors = [torch.from_numpy(array) for array in (query, keys, values)]
our_context, our_weights = seq2see.attend(*tensors, score="scaled_dot", weights=True)
assert np.allclose(our_context.numpy(), context)
assert np.allclose(our_weights.numpy(), weights)
print("seq2see.attend agrees with NumPy")

# %% [markdown]
# ## A mask and a temperature
#
# A mask says which keys may be attended to (True: allowed). Masked keys weigh exactly nothing, and the others share
# their weight. A temperature below one makes the weights sharper.

# %%
mask = torch.tensor([True, False, True, True])  # the cat is hidden
_, masked = seq2see.attend(*tensors, mask=mask, weights=True)
_, sharp = seq2see.attend(*tensors, temperature=0.25, weights=True)
print("who?, the cat hidden: ", masked[0].numpy().round(2))
print("who?, temperature 1/4:", sharp[0].numpy().round(2))

# %% [markdown]
# ## A heatmap
#
# One row for each query, one column for each key; the darker a cell, the larger the weight.

# %%
heatmap = seq2see.from_arrays(weights, queries=questions, keys=words)
print("heatmap:", heatmap.save("runs/attention_by_hand.png"))
heatmap
