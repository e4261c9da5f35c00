# %% [markdown]
# # Bahdanau's RNNsearch from parts
#
# The first neural translation model with attention (Bahdanau, Cho & Bengio 2015,
# [arXiv:1409.0473](https://arxiv.org/abs/1409.0473)), built from the layers of seq2see and trained with a plain PyTorch
# loop. It learns to read dates in many languages, letter by letter, and to write them in ISO form:
# `5. März 2021` becomes `2021-03-05`.

# %%
import os
import time
from dataclasses import dataclass
from random import Random
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

import seq2see
from seq2see.core.trace import tracing
from seq2see.data.synthetic.dates import make_dates
from seq2see.nn.attend import Attend
from seq2see.nn.cell import Gru, read_sequence
from seq2see.nn.cross_entropy import output_cross_entropy
from seq2see.nn.embed import Embed
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Additive

QUICK = "SEQ2SEE_QUICK" in os.environ  # a few updates, to see that everything runs
UPDATES, BATCH, PAIRS, TESTS = (3, 8, 200, 10) if QUICK else (1_000, 128, 40_000, 1_000)
torch.set_num_threads(1)  # tensors of this size are too small to be shared between cores

# %% [markdown]
# ## Dates as letters
#
# Every letter of the training data gets a number. Four numbers are reserved: padding, a letter that training never
# showed, start and end of the target.

# %%
PADDING, UNKNOWN, START, END = range(4)


class Letters:
    """Maps the letters of some texts to numbers, and back."""

    def __init__(self, texts: list[str]) -> None:
        self.known = sorted(set("".join(texts)))
        self.numbers = {letter: number for number, letter in enumerate(self.known, END + 1)}

    def __len__(self) -> int:
        return END + 1 + len(self.known)

    def encode(self, text: str) -> Tensor:
        return torch.tensor([*(self.numbers.get(letter, UNKNOWN) for letter in text), END])

    def decode(self, numbers: list[int]) -> str:
        end = numbers.index(END) if END in numbers else len(numbers)
        return "".join(self.known[number - END - 1] if number > END else "?" for number in numbers[:end])


dates = make_dates(train=PAIRS, valid=0, test=TESTS, seed=1)
source_letters = Letters([written for written, _ in dates.train])
target_letters = Letters([iso for _, iso in dates.train])
print(*dates.train[:3], sep="\n")


def make_batch(texts: list[str], letters: Letters) -> Tensor:
    return pad_sequence([letters.encode(text) for text in texts], batch_first=True, padding_value=PADDING)


# %% [markdown]
# ## The model
#
# The encoder is a bidirectional GRU. The annotation $h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]$ of letter $j$
# knows what stands before and after it. Step $i$ of the decoder compares its last state $s_{i-1}$ with every
# annotation:
#
# $$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j), \quad \alpha_{ij} = \mathrm{softmax}_j(e_{ij}), \quad
# c_i = \sum_j \alpha_{ij} h_j, \quad s_i = \mathrm{GRU}(s_{i-1}, [y_{i-1}; c_i])$$
#
# A maxout layer predicts the next letter from $s_{i-1}$, $y_{i-1}$ and $c_i$ (appendix A.2.2).


# %%
@dataclass(frozen=True)
class Source:
    """What the decoder reads: annotations [b 1 s d], what the score prepared of them, and where letters are."""

    annotations: Tensor
    keys: Tensor
    mask: Tensor


class RnnSearch(nn.Module):
    """p(target | source), one letter after the other."""

    def __init__(self, *, size: int = 128, embedding_size: int = 64) -> None:
        super().__init__()
        both = 2 * size
        self.source_embed = Embed(len(source_letters), embedding_size)
        self.target_embed = Embed(len(target_letters), embedding_size)
        self.forward_cell = Gru(input_size=embedding_size, size=size)
        self.backward_cell = Gru(input_size=embedding_size, size=size)
        self.initial_state = nn.Linear(size, size)
        self.attend = Attend(score=Additive(query_size=size, key_size=both), normalise=Softmax())
        self.decoder_cell = Gru(input_size=embedding_size + both, size=size)
        self.maxout = nn.Linear(size + embedding_size + both, 2 * size)
        self.output = nn.Linear(size, len(target_letters))

    def encode(self, letters: Tensor) -> tuple[Source, Tensor]:
        """The annotations of a batch [b s], and the first state of the decoder [b d]."""
        mask = letters != PADDING
        embedded = self.source_embed(letters)
        forward, _ = read_sequence(self.forward_cell, embedded, mask, "forward")
        backward, (last,) = read_sequence(self.backward_cell, embedded, mask, "backward")
        annotations = torch.cat([forward, backward], dim=-1).unsqueeze(1)  # dimension 1 is for heads; we have one
        # U h_j does not depend on the step, so the score prepares it once
        source = Source(annotations, self.attend.prepare(annotations), mask[:, None, None, :])
        return source, self.initial_state(last).tanh()

    def step(self, letter: Tensor, state: Tensor, source: Source) -> tuple[Tensor, Tensor]:
        """What the output layer sees after one more letter [b], and the next state."""
        embedded = self.target_embed(letter)
        context = self.attend(state[:, None, None], source.keys, source.annotations, source.mask)[:, 0, 0]
        pairs = self.maxout(torch.cat([state, embedded, context], dim=-1)).unflatten(-1, (-1, 2))
        inputs = self.decoder_cell.project(torch.cat([embedded, context], dim=-1))
        (state,) = self.decoder_cell.advance(inputs, (state,))
        return pairs.amax(dim=-1), state

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        """Mean cross-entropy of the letters of the target, each after the true letters before it (teacher forcing)."""
        read, state = self.encode(source)
        features, before = [], torch.full_like(target[:, 0], START)
        for letter in target.unbind(dim=1):
            seen, state = self.step(before, state, read)
            features.append(seen)
            before = letter
        real = target != PADDING
        seen = torch.stack(features, dim=1)[real]
        total, _ = output_cross_entropy(seen, self.output.weight, self.output.bias, target[real])
        return total / real.sum()

    @torch.no_grad()
    def predict(self, texts: list[str], *, max_length: int = 12) -> list[str]:
        """Greedy search: at every step the most probable letter."""
        read, state = self.encode(make_batch(texts, source_letters))
        letter = torch.full((len(texts),), START)
        written = []
        for _ in range(max_length):
            seen, state = self.step(letter, state, read)
            letter = self.output(seen).argmax(dim=-1)
            written.append(letter)
        return [target_letters.decode(row) for row in torch.stack(written, dim=1).tolist()]


# %% [markdown]
# ## Training
#
# Adam with a learning rate that falls to zero. A batch holds texts of similar length, because padding costs time.


# %%
def draw_batches(random: Random) -> list[list[tuple[str, str]]]:
    """Sixteen batches: random pairs, sorted by length, cut, and shuffled."""
    drawn = sorted(random.sample(dates.train, min(16 * BATCH, PAIRS)), key=lambda pair: len(pair[0]))
    batches = [drawn[start : start + BATCH] for start in range(0, len(drawn), BATCH)]
    random.shuffle(batches)
    return batches


torch.manual_seed(1)
random = Random(1)
model = RnnSearch()
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.003, total_steps=UPDATES + 1, pct_start=0.1)
begin, batches, losses = time.perf_counter(), [], []
for update in range(1, UPDATES + 1):
    batches = batches or draw_batches(random)
    written, iso = zip(*batches.pop(), strict=True)
    loss = model.loss(make_batch(written, source_letters), make_batch(iso, target_letters))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
    if update % 100 == 0:  # the mean of the last hundred, because a single batch is long or short, hard or easy
        print(f"update {update:5}  loss {fmean(losses[-100:]):.3f}  {time.perf_counter() - begin:.0f} seconds")

# %% [markdown]
# ## Exact match
#
# The test dates are days that training never showed.

# %%
written, iso = zip(*dates.test, strict=True)
outputs = model.predict(list(written))
exact = sum(output == wanted for output, wanted in zip(outputs, iso, strict=True)) / TESTS
print(f"exact match {100 * exact:.1f} % of {TESTS:,} test dates")

# %% [markdown]
# ## Where it looked
#
# `tracing` records the weights of every `Attend` inside the block. The year looks at the year, the month at the name of
# the month, the day at the day. Sometimes a digit looks at the neighbour of its own digit: an annotation knows what
# stands around its letter, so the neighbour serves as well.

# %%
text = "Friday, 5 March 2021"
with tracing(model) as trace:
    (output,) = model.predict([text])
print(text, "->", output)
weights = trace.weights("attend")[0]
rows = [*output, "end"][: weights.shape[1]]  # what the search wrote behind the end is nobody's business
heatmap = seq2see.from_arrays(weights[:, : len(rows)], queries=rows, keys=[*text, "end"])
print("heatmap:", heatmap.save("runs/bahdanau_from_parts.png"))
heatmap
