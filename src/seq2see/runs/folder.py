"""The run folder: the unit of sharing. Weights, tokenizers, configuration, metrics; no pickle anywhere."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from seq2see import __version__
from seq2see.config.load import load_config
from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, ConfigError, Seq2SeeError, TokenError
from seq2see.core.json_text import read_json
from seq2see.core.registry import shorten
from seq2see.core.unicode import is_text
from seq2see.data.modalities.learn import read_modality, read_target
from seq2see.models.network import Network
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, read_outline, write_checkpoint
from seq2see.runs.config_changes import describe_changes
from seq2see.runs.config_digest import add_digest, check_config_file
from seq2see.runs.metrics_file import Row, read_rows
from seq2see.runs.model_limits import build_within, check_cells, check_decoding, require_memory
from seq2see.runs.run_file import MAX_FORMAT_BYTES, MAX_TOKENIZER_BYTES, copy_run_files, is_there, read_run_file
from seq2see.system.files import DRAFT, write_atomic
from seq2see.system.foreign_code import admit
from seq2see.tasks.task import Task, find_task

T = TypeVar("T")

SIDES = ("source", "target")
LOCK = "training.lock"  # in the folder of checkpoints
FORMAT = 2  # of the run folder: its files, and the names of config keys and weights inside them


@dataclass(frozen=True)
class RunFolder:
    """A folder that holds one run.

    Args:
        path: the folder; it need not exist yet.
    """

    path: Path

    @property
    def config_file(self) -> Path:
        """Return the file of the configuration, which people may read."""
        return self.path / "config.yaml"

    @property
    def format_file(self) -> Path:
        """Return the file with the format of the run folder."""
        return self.path / "run.json"

    @property
    def weights_file(self) -> Path:
        """Return the file of the weights that predict."""
        return self.path / "weights.safetensors"

    @property
    def checkpoint_folder(self) -> Path:
        """Return the folder with all that resuming needs."""
        return self.path / "checkpoints"

    @property
    def best_weights_file(self) -> Path:
        """Return the file of the best weights by validation, which exists if an average of weights predicts."""
        return self.checkpoint_folder / "best.safetensors"

    @property
    def data_folder(self) -> Path:
        """Return the folder with the data of a training on Python objects, which have no file of their own."""
        return self.path / "data"

    @property
    def metrics_file(self) -> Path:
        """Return the file of what was measured while training, one JSON object a line."""
        return self.path / "metrics.jsonl"

    @property
    def report_file(self) -> Path:
        """Return the HTML report about the run."""
        return self.path / "report.html"

    @property
    def agreement_file(self) -> Path:
        """Return the file that says how far the attention of the run agrees with leave-one-out occlusion."""
        return self.path / "attention_agreement.json"

    @property
    def files(self) -> list[Path]:
        """Return the files that a run is loaded from, which need not exist."""
        tokenizers = [self._tokenizer_file(side) for side in SIDES]
        return [self.config_file, self.format_file, self.weights_file, self.agreement_file, *tokenizers]

    def holds_run(self) -> bool:
        """Return whether a run has begun in the folder; anything else in it is an error.

        What a process that was killed before it wrote the configuration has left is no run, and no error.
        """
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path}: this is a file; give a folder for the run.")
        if is_there(self.config_file):
            return True
        if self.path.is_dir() and not all(self._is_beginning(entry) for entry in self.path.iterdir()):
            raise CheckpointError(f"{self.path}: the folder holds other files and no run; choose another (out).")
        return False

    def _is_beginning(self, entry: Path) -> bool:
        """Return whether a file or folder may be all that there is of a run before its configuration is written."""
        if entry == self.checkpoint_folder:
            return all(each.name == LOCK or DRAFT.fullmatch(each.name) for each in entry.iterdir())
        if entry == self.data_folder:
            return self.format_file.is_file()
        return entry == self.format_file or DRAFT.fullmatch(entry.name) is not None

    def write_format(self) -> None:
        """Write the file with the format of the folder, which is made if it is missing."""
        written = {"format": FORMAT, "seq2see": __version__}
        write_atomic(self.format_file, json.dumps(written, indent=1) + "\n")

    def create(self, config_text: str) -> None:
        """Make the folder with its configuration and its format file.

        Args:
            config_text: the content of config.yaml.
        """
        try:
            self.checkpoint_folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self.path}: the folder cannot be made: {error.strerror or error}.") from error
        self.write_format()
        self.write_config(config_text)

    def write_config(self, text: str) -> None:
        """Replace the configuration; a digest is added to it.

        Args:
            text: the content of config.yaml.
        """
        write_atomic(self.config_file, add_digest(text))

    def read_config(self) -> Config:
        """Read the configuration that the run was started with."""
        if not self.path.is_dir():
            raise CheckpointError(f"{self.path}: there is no such run folder; check the path.")
        if not is_text(str(self.path)):  # safetensors reads no others
            raise CheckpointError(f"{str(self.path)!r}: the path of a run folder must be UTF-8; rename it.")
        if not is_there(self.config_file):
            raise CheckpointError(f"{self.path}: this is no run folder (it has no config.yaml); check the path.")
        self._check_format()
        check_config_file(self.config_file)
        return load_config(file=self.config_file).config

    def _check_format(self) -> None:
        """Refuse a run folder whose format this version does not read."""
        try:
            found = read_json(read_run_file(self.format_file, most=MAX_FORMAT_BYTES))["format"]
        except FileNotFoundError:
            found = 1  # the first format had no such file
        except (ValueError, KeyError, TypeError):
            raise CheckpointError(f"{self.format_file}: the file is damaged; copy the run again.") from None
        if found != FORMAT or type(found) is not int:
            remedy = "train the run again" if found in list(range(FORMAT)) else "install a newer seq2see"
            raise CheckpointError(
                f"{self.path}: a run folder must have format {FORMAT} for seq2see {__version__}; got format "
                f"{shorten(found)}; {remedy}."
            )

    def write_task(self, task: Task) -> None:
        """Save the tokenizers.

        Args:
            task: the task that has them.
        """
        for side in SIDES:
            write_atomic(self._tokenizer_file(side), getattr(task, side).to_json())

    def read_task(self, config: Config | None = None) -> Task:
        """Read the task with its tokenizers.

        Args:
            config: the configuration of the run; None reads it.
        """
        task = find_task((config or self.read_config()).task)
        return task(self._read_side("source", read_modality), self._read_side("target", read_target))

    @property
    def has_task(self) -> bool:
        """Return whether both tokenizers were written."""
        return all(self._tokenizer_file(side).is_file() for side in SIDES)

    def write_weights(self, tensors: Mapping[str, Tensor], config: Config, facts: Mapping[str, Any]) -> None:
        """Replace the weights that predict.

        Args:
            tensors: the weights by name.
            config: the configuration, whose model and tokens are saved with them.
            facts: what else is known of them, such as their update; JSON values.
        """
        known = {"tokenizers": {side: self._tokenizer_digest(side) for side in SIDES}, "model": _shape(config)}
        write_checkpoint(self.weights_file, Checkpoint(tensors, {**facts, **known}))

    def read_weights(self, config: Config) -> Checkpoint:
        """Read the weights that predict.

        Args:
            config: the configuration; its model must be the one they were trained with, and the tokenizers theirs.
        """
        checkpoint = read_checkpoint(self.weights_file)
        self._check_facts(checkpoint.facts, config)
        return checkpoint

    def _check_facts(self, facts: Mapping[str, Any], config: Config) -> None:
        """Refuse weights that were trained with other tokenizers, or with another model."""
        tokenizers, model = facts.get("tokenizers"), facts.get("model")
        if not isinstance(tokenizers, dict) or not isinstance(model, dict):
            raise CheckpointError(f"{self.weights_file}: the file is damaged (its facts); copy the run again.")
        for side in SIDES:
            if tokenizers.get(side) != self._tokenizer_digest(side):
                raise CheckpointError(f"{self._tokenizer_file(side)}: the file was changed or damaged since training.")
        if changes := describe_changes(model, _shape(config)):
            raise ConfigError(
                f"{self.config_file}: the weights were trained with another model: {changes}; undo the edit."
            )

    def open(self, *, trust: bool = False) -> tuple[Config, Task, Network]:
        """Return configuration, task and model, with the weights that predict, in evaluation mode.

        Args:
            trust: whether the run may execute the code of its own that it names.
        """
        config = self.read_config()
        admit(config.model_dump(), [self.path / "code"], trust=trust, owner=str(self.path))
        task, outline = self.read_task(config), read_outline(self.weights_file)
        require_memory(self.weights_file)
        try:
            model = build_within(task, config, outline.forms, name=str(self.config_file))
        except Seq2SeeError:
            self._check_facts(outline.facts, config)  # an edit of the configuration explains it best
            raise
        check_cells(model, name=str(self.config_file), trust=trust)
        weights = self.read_weights(config)
        task = task.with_saved_state(weights.facts)
        check_decoding(task, config, model, name=str(self.config_file), trust=trust)
        model.load_state_dict(dict(weights.tensors))
        return config, task, model.eval()

    def copy_to(self, path: Path) -> None:
        """Copy the whole folder; a copy that fails leaves nothing behind.

        Args:
            path: the new folder, which must not exist yet.
        """
        self.read_config()
        copy_run_files(self.path, path)

    def checkpoints(self) -> list[Path]:
        """Return the checkpoints to go on from, newest first."""
        return sorted(self.checkpoint_folder.glob(f"update-{9 * '[0-9]'}.safetensors"), reverse=True)

    def checkpoint_file(self, update: int) -> Path:
        """Return the file of the checkpoint after an update.

        Args:
            update: the number of updates made.
        """
        return self.checkpoint_folder / f"update-{update:09d}.safetensors"

    def read_metrics(self) -> list[Row]:
        """Return what was measured while training, without damaged lines."""
        last = read_outline(self.weights_file).last_update if self.weights_file.is_file() else None
        return read_rows(self.metrics_file, last=last)

    def _tokenizer_file(self, side: str) -> Path:
        return self.path / f"{side}.tokenizer.json"

    def _tokenizer_digest(self, side: str) -> str:
        file = self._tokenizer_file(side)
        content = read_run_file(file, most=MAX_TOKENIZER_BYTES) if is_there(file) else None
        return "" if content is None else hashlib.sha256(content).hexdigest()

    def _read_side(self, side: str, read: Callable[[str], T]) -> T:
        file = self._tokenizer_file(side)
        try:
            return read(read_run_file(file, most=MAX_TOKENIZER_BYTES).decode())
        except FileNotFoundError:
            raise CheckpointError(f"{file}: there is no such file; the run folder is not whole.") from None
        except (TokenError, ConfigError, UnicodeDecodeError) as error:
            raise CheckpointError(
                f"{file}: the file is damaged or cut short ({error}); copy the run again, or train anew."
            ) from None


def _shape(config: Config) -> dict[str, Any]:
    """Return what the weights depend on."""
    return config.model_dump(mode="json", include={"task", "model", "tokens"})
