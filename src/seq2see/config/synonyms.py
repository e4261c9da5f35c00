"""What other toolkits call our settings and options, for a "did you mean" where words are too different to be alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from seq2see.config.notation import KeyPath
from seq2see.config.schema import Config
from seq2see.config.settings import list_sections
from seq2see.core.registry import suggest


@dataclass(frozen=True)
class Meaning:
    """What somebody who writes a word of another toolkit means.

    Args:
        setting: the dotted key of the configuration; empty: there is none.
        option: the option of the command line; empty: there is none.
        note: what is different with us, as the end of a sentence; empty: nothing.
    """

    setting: str = ""
    option: str = ""
    note: str = ""


EPOCHS = Meaning("train.updates", note="which counts batches and not times through the data")

# each meaning with its words, which are compared without the section before them, and with _ for -
SYNONYMS: tuple[tuple[Meaning, str], ...] = (
    (EPOCHS, "epochs epoch num_epochs n_epochs max_epochs max_epoch num_train_epochs train_epochs"),
    (
        Meaning("train.updates"),
        "steps max_steps num_steps train_steps max_train_steps num_train_steps total_steps iterations iters max_iters "
        "num_updates max_updates max_update",
    ),
    (
        Meaning("train.batch_tokens", note="which counts tokens and not pairs"),
        "batch_size train_batch_size per_device_train_batch_size batch bs max_tokens_per_batch tokens_per_batch",
    ),
    (Meaning("train.accumulate"), "gradient_accumulation_steps accumulate_grad_batches accum_count update_freq"),
    (Meaning("train.learning_rate"), "lr base_lr init_lr initial_lr max_lr peak_lr learning_rate_init"),
    (Meaning("train.schedule"), "lr_scheduler lr_scheduler_type scheduler lr_schedule decay_method scheduling"),
    (
        Meaning("train.schedule.warmup", note="beside train.schedule.kind"),
        "warmup warmup_steps warmup_updates num_warmup_steps warmup_ratio",
    ),
    (Meaning("train.optimizer"), "optim optimiser"),
    (Meaning("train.beta2"), "adam_beta2 betas adam_betas"),
    (Meaning("train.weight_decay"), "wd l2 decay"),
    (
        Meaning("train.clip_gradient"),
        "max_grad_norm clip_norm clip_grad clip_grad_norm grad_clip gradient_clip_val gradient_clipping clip",
    ),
    (Meaning("train.label_smoothing"), "label_smoothing_factor smoothing"),
    (
        Meaning("train.validate_every", note="in updates"),
        "eval_steps eval_every eval_interval val_check_interval validate_interval validation_freq valid_steps "
        "save_steps save_interval save_every checkpoint_frequency",
    ),
    (Meaning("train.patience"), "early_stopping early_stopping_patience es_patience"),
    (Meaning("train.monitor"), "metric eval_metric metric_for_best_model best_checkpoint_metric optimized_metric"),
    (Meaning("train.workers"), "num_workers nproc nproc_per_node num_processes world_size n_jobs"),
    (Meaning("train.threads"), "num_threads"),
    (Meaning("seed"), "random_seed random_state manual_seed rng_seed"),
    (Meaning("preset", note="a name of seq2see presets"), "arch architecture model_name model_type model config_name"),
    (
        Meaning("model.encoder.size", note="beside model.decoder.size"),
        "hidden_size hidden_dim d_model rnn_size rnn_num_hidden units num_units",
    ),
    (
        Meaning("model.encoder.embedding_size", note="beside model.decoder.embedding_size"),
        "embedding_dim emb_size emb_dim embed_dim word_vec_size num_embed embedding_size",
    ),
    (Meaning("model.encoder.layers", note="beside model.decoder.layers"), "num_layers n_layers layers"),
    (Meaning("model.encoder.dropout", note="beside model.decoder.dropout"), "dropout dropout_rate"),
    (Meaning("tokens.source.size", note="beside tokens.target.size, or tokens.joint.size"), "vocab_size num_words"),
    (Meaning("tokens.source", note="beside tokens.target, or tokens.joint"), "tokenizer tokenization"),
    (
        Meaning("data.max_tokens"),
        "max_length max_len max_seq_length max_seq_len max_source_length max_target_length max_sent_length",
    ),
    (Meaning("data.train"), "train_file train_data trainpref training_data dataset"),
    (
        Meaning("data.valid", "--valid"),
        "valid_file validation_file validation dev dev_file val val_data valid_data eval_data eval_file",
    ),
    (Meaning("data.test", "--test"), "test_file test_data"),
    (Meaning("", "--source"), "src source_file train_src src_file"),
    (Meaning("", "--target"), "tgt target_file train_tgt tgt_file trg"),
    (Meaning("data.fields", "--fields"), "columns column text_column source_column"),
    (
        Meaning("", "--out"),
        "output output_dir output_file outdir out_dir out_file save_dir save_model model_dir run_dir",
    ),
    (
        Meaning("init.run", "--from"),
        "pretrained pretrained_model finetune finetune_from_model load_from restore_file train_from "
        "init_from_checkpoint init_checkpoint from_run params base_model from_pretrained",
    ),
    (Meaning("search.width", "--beam"), "beam_size num_beams beam_width"),
    (Meaning("search.length_penalty", "--length-penalty"), "lenpen len_penalty length_penalty_alpha alpha"),
    (Meaning("", "--n-best"), "nbest num_return_sequences"),
)
MEANINGS = {word: meaning for meaning, words in SYNONYMS for word in words.split()}


def name_word(name: str) -> str:
    """Return a key or an option as words are compared: without section and dashes, in lower case, with _ for -.

    Args:
        name: such as train.lr, --batch-size or numEpochs.
    """
    return name.lstrip("-").rpartition(".")[2].replace("-", "_").lower()


def names_epochs(key: str) -> bool:
    """Return whether a key means how often a training goes through its data.

    Args:
        key: a dotted key of a setting.
    """
    return MEANINGS.get(name_word(key)) is EPOCHS


def suggest_setting(path: KeyPath, known: Sequence[str]) -> str:
    """Return what somebody means by a key that does not exist, as the end of a sentence; else the keys that do exist.

    Args:
        path: the keys that lead to it, the unknown one last.
        known: the keys that its section has.
    """
    meaning = _find_meaning(path[-1])
    if meaning is None:
        return f"{suggest(path[-1], known)} (known: {', '.join(known)})."
    return _ask(meaning.setting, meaning.note) if meaning.setting else _ask(f"the option {meaning.option}", "")


def suggest_option(name: str, options: Sequence[str], *, takes_settings: bool) -> str:
    """Return a "did you mean" for an option that does not exist, as the end of a sentence; empty without an idea.

    Args:
        name: the option, such as --lr.
        options: the options that the command has.
        takes_settings: whether the command takes settings (KEY=VALUE).
    """
    meaning = _find_meaning(name)
    if meaning is None:
        return suggest(name, options)
    if meaning.option in options:
        return _ask(meaning.option, "")
    return _ask(f"{meaning.setting}=...", meaning.note) if meaning.setting and takes_settings else ""


def _ask(name: str, note: str) -> str:
    return f"; did you mean {name}{f', {note}' * bool(note)}?"


def _find_meaning(name: str) -> Meaning | None:
    """Return what a word means: by the table, or as a key of another section, if there is one alone."""
    word = name_word(name)
    if word in MEANINGS:
        return MEANINGS[word]
    found = [key for key in _list_keys(Config) if key.rpartition(".")[2] == word]
    return Meaning(found[0]) if len(found) == 1 else None


def _list_keys(section: type[BaseModel], before: str = "") -> Iterator[str]:
    """Yield all dotted keys of a section, but not the sections themselves."""
    inner = list_sections(section)
    for name in section.model_fields:
        if name not in inner:
            yield before + name
        else:
            yield from _list_keys(inner[name], f"{before}{name}.")
