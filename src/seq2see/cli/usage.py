"""A command line that cannot be understood, as one sentence that says what was meant."""

from collections.abc import Sequence


def explain_usage(error: Exception) -> str:
    """Return what is wrong with a command line, and what may have been meant or which help lists all options.

    Args:
        error: the usage error of typer.
    """
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "seq2see"
    name = getattr(error, "option_name", None)
    if isinstance(name, str) and context is not None and hasattr(error, "possibilities"):
        sentence = f"there is no option {name}{_suggest(name, context.command.params)}"
    else:
        message = str(error.format_message() if hasattr(error, "format_message") else error).rstrip(".")
        sentence = (message[:1].lower() + message[1:]).replace(". Did you mean", "; did you mean")
    return sentence if sentence.endswith("?") else f"{sentence}; {command} --help tells what there is."


def _suggest(name: str, parameters: Sequence[object]) -> str:
    """Return the end of the sentence: the option or setting that was meant, or an option that is similar."""
    from seq2see.config.synonyms import suggest_option

    options = [option for each in parameters for option in getattr(each, "opts", ()) if option.startswith("--")]
    takes_settings = any("KEY=VALUE" in str(getattr(each, "metavar", "")) for each in parameters)
    return suggest_option(name, options, takes_settings=takes_settings)
