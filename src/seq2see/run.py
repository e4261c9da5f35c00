"""A trained run in Python: `seq2see.load("runs/x").predict("...")`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import overload

from seq2see.config.schema import Config
from seq2see.core.errors import Seq2SeeError
from seq2see.core.foreign import admit
from seq2see.core.registry import part
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.explain import explain
from seq2see.models.seq2seq import Seq2Seq
from seq2see.search.hypothesis import Search
from seq2see.tasks.transduction import Output, Transduction
from seq2see.train.folder import RunFolder


@dataclass(frozen=True)
class Prediction(Output):
    """One output of a run; in a notebook it shows itself with its attention."""

    run: "Run" = field(kw_only=True, repr=False, compare=False)
    alternatives: tuple["Prediction", ...] = ()  # further outputs of an n-best list, best first

    def __str__(self) -> str:
        return self.text

    @cached_property
    def attention(self) -> AttentionTrace:
        """What the model looked at while it wrote exactly this output."""
        if not self.ids:
            raise Seq2SeeError("a blank source has no attention to show.")
        return explain(self.run.task, self.run.model, self.source, self.ids)

    def _repr_html_(self) -> str:
        heading = f"<p><code>{escape(self.source)}</code> → <b>{escape(self.text)}</b></p>"
        try:
            return heading + self.attention._repr_html_()
        except Seq2SeeError as error:
            return f"{heading}<p>{escape(str(error))}</p>"


@dataclass(frozen=True)
class Run:
    """A model with its tokenizers, ready for raw text."""

    folder: RunFolder
    config: Config
    task: Transduction
    model: Seq2Seq

    @overload
    def predict(  # type: ignore[overload-overlap]
        self, inputs: str, *, beam: int | None = None, n_best: int = 1, search: Search | None = None
    ) -> Prediction: ...
    @overload
    def predict(
        self, inputs: Sequence[str], *, beam: int | None = None, n_best: int = 1, search: Search | None = None
    ) -> list[Prediction]: ...
    def predict(
        self, inputs: str | Sequence[str], *, beam: int | None = None, n_best: int = 1, search: Search | None = None
    ) -> Prediction | list[Prediction]:
        """A prediction for each text, in order; one text gives one prediction.

        The search is the configured one unless you give the width of a beam (1: greedy) or a search of your own.
        """
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        results = self.task.predict(self.model, texts, search or self._search(beam, n_best))
        predictions = [self._wrap(outputs) for outputs in results]
        return predictions[0] if isinstance(inputs, str) else predictions

    def _search(self, beam: int | None, n_best: int) -> Search:
        chosen = part("search", self.config.search, path=("search",))
        if beam is None and (chosen.kind != "greedy" or n_best == 1):
            several = {"n_best": n_best} if n_best != 1 else {}
            wide = {"width": max(chosen.options.get("width", 5), n_best)} if chosen.kind == "beam" else {}
            return part("search", {"kind": chosen.kind, **chosen.options, **wide, **several})()
        options = chosen.options if chosen.kind == "beam" else {}
        width = n_best if beam is None else beam
        return part("search", {**options, "kind": "beam", "width": width, "n_best": n_best})()

    def _wrap(self, outputs: Sequence[Output]) -> Prediction:
        first, *others = [Prediction(**vars(output), run=self) for output in outputs]
        return replace(first, alternatives=tuple(others))


def load(path: str | Path, *, trust: bool = False) -> Run:
    """Load a run folder; `trust` lets it run code of its own, if it names any."""
    folder = RunFolder(Path(path))
    config = folder.read_config()
    admit(config.model_dump(), [folder.path / "code"], trust=trust, owner=str(path))
    task = folder.read_task()
    weights = folder.read_weights(config)
    task = replace(task, longest_target=weights.facts["longest_target"])
    model = task.build(config)
    model.load_state_dict(dict(weights.tensors))
    model.eval()
    return Run(folder, config, task, model)
