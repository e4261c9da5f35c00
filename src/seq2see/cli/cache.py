"""`seq2see cache`: the folder of prepared data, its size, and how to empty it."""

from typing import Annotated

import typer


def cache(
    clean: Annotated[bool, typer.Option("--clean", help="Remove everything in the cache.")] = False,
) -> None:
    """Show where prepared data is kept and how large it is; `--clean` removes it. Runs are never touched.

    What is removed is made again when a training needs it. The variable SEQ2SEE_CACHE names another folder.

    \b
    Examples:
      seq2see cache
      seq2see cache --clean
    """
    from seq2see.data.storage.cache_usage import clean_cache, measure_cache

    usage = measure_cache()
    typer.echo(f"{usage.folder}: {usage.files} files, {usage.bytes / 1e6:.1f} MB")
    if clean:
        clean_cache()
        typer.echo("The cache is empty now.")
