"""Shards of a large file on the command line: one is predicted, or all are joined."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from seq2see.cli.bulk_request import BulkRequest
from seq2see.cli.messages import tell
from seq2see.cli.predict import Format, warn_of_inputs, write_line
from seq2see.cli.predicted_table import CELLS, choose_kind
from seq2see.cli.progress_bar import counting
from seq2see.cli.search_options import read_prefixes, warn_of_labels
from seq2see.core.errors import DataError, SearchError
from seq2see.core.plural import say_count

if TYPE_CHECKING:
    from seq2see.data.formats.data_table import DataTable
    from seq2see.data.formats.row_stream import RowStream
    from seq2see.data.formats.table_kind import Kind
    from seq2see.runs.decoding import Decoding
    from seq2see.runs.predictions import Predictions
    from seq2see.runs.run import Run
    from seq2see.runs.shards import Shard

    Chunks = Iterable[tuple[DataTable, Predictions]]


def run_shards(
    request: BulkRequest, shard: str | None, load: "Callable[[], Run]", *, merge: bool, workers: int
) -> None:
    """Predict one shard, or join all.

    Args:
        request: what is predicted.
        shard: the shard, such as `3/16`; None joins all.
        load: loads the run.
        merge: whether all are joined.
        workers: processes that predict together; 0 chooses as many as make it faster.

    Raises:
        DataError: both are asked for, or there is no such shard.
    """
    from seq2see.runs.shards import Shard

    if shard is None:
        join_shards(request)
    elif merge:
        raise DataError("--shard predicts one shard, and --merge joins all of them; give one of the two.")
    else:
        predict_shard(request, Shard.parse(shard), load, workers=workers)


def predict_shard(request: BulkRequest, shard: "Shard", load: "Callable[[], Run]", *, workers: int) -> None:
    """Predict the rows of a shard, and write its output in one step; one that is there already is left as it is.

    Args:
        request: what is predicted.
        shard: the shard.
        load: loads the run.
        workers: processes that predict together; 0 chooses as many as make it faster.
    """
    from seq2see.runs.parallel_prediction import choose_workers, start_workers
    from seq2see.runs.prediction_columns import list_columns
    from seq2see.runs.shards import digest_files, read_stamp, remove_drafts, write_stamp
    from seq2see.system.files import writing_atomic

    file, stamp = shard.name_file(request.out), request.make_stamp()
    there = read_stamp(file)
    difference = stamp.find_difference(there) if there is not None else None
    if there is not None and difference is None:
        tell(f"shard {shard} is whole already: {file}")
        return
    if difference is not None:
        tell(f"{file} is of {difference}; it is predicted again")
    run = load()
    stream, kind = open_stream(run, request)
    rows, decoding = shard.find_rows(stream.count), run.choose_decoding(request.options)
    prefixes = None if request.prefix_file is None else read_prefixes(request.prefix, request.prefix_file, stream.count)
    processes = workers or choose_workers(run, stream.count, decoding.search)  # as many as for all rows
    remove_drafts(file)
    with ExitStack() as stack:
        advance = stack.enter_context(counting("predicting", len(rows)))
        sink = stack.enter_context(writing_atomic(file))
        shared = stack.enter_context(start_workers(run, processes if rows else 1))
        chunks = predict_chunks(shared, request, stream, rows, decoding, prefixes, advance)
        head = 0
        if kind is None:
            write_lines(request, chunks, sink)
        else:
            outputs = getattr(decoding.search, "n_best", 1)
            empty = stream.outline.add(list_columns(run, [], outputs))
            tables = add_predictions(run, chunks, outputs, empty.names)
            head = write_rows(tables, empty, kind, request.out, sink)
    write_stamp(file, replace(stamp, output=digest_files([file]), head=head))
    some = f"rows {rows.start + 1:,} to {rows.stop:,} of {stream.count:,}" if rows else "no rows: there are few chunks"
    tell(f"shard {shard}: {some}; written to {file}")


def open_stream(run: "Run", request: BulkRequest) -> "tuple[RowStream, Kind | None]":
    """Return the input as a stream, and the format of the table to write; None writes no table.

    Args:
        run: the run.
        request: what is predicted.

    Raises:
        DataError: the input or the output is no such file as shards can be of.
    """
    from seq2see.data.formats.row_stream import open_rows

    if request.field is None and run.task.source.tokenizer is None:
        raise DataError("shards of images are rows of a table; name the column of their paths with --fields.")
    warn_of_labels(run, request.options, prefix=request.prefix, prefix_file=request.prefix_file)
    stream = open_rows(request.file, field=request.field, lines=request.lines, encoding=request.encoding)
    if request.form is not Format.table:
        return stream, None
    kind = choose_kind(stream.outline, request.out)
    if kind == "json" or (kind == "parquet" and stream.outline.kind != "parquet"):
        raise DataError(f"shards of {stream.outline.kind} cannot be written as {kind}; write .csv, .tsv or .jsonl.")
    return stream, kind


def predict_chunks(
    run: "Run",
    request: BulkRequest,
    stream: "RowStream",
    rows: range,
    decoding: "Decoding",
    prefixes: Sequence[str] | None,
    advance: Callable[..., None],
) -> "Iterator[tuple[DataTable, Predictions]]":
    """Predict some rows of a stream, chunk by chunk.

    Args:
        run: the run, or a run that shares the work among processes.
        request: what is predicted.
        stream: the input.
        rows: which rows, counted from 0.
        decoding: how outputs are found.
        prefixes: what the output of each row of the whole input begins with; None for the prefix of the request.
        advance: is told how many rows are done.

    Yields:
        The rows of each chunk as a table, and their predictions.
    """
    from seq2see.runs.shards import CHUNK_ROWS

    start, column = rows.start, request.field is not None
    for table, texts in stream.read(rows, CHUNK_ROWS):
        sources = CELLS[run.task.source.reads](run, texts, request.file) if column else texts
        if start == rows.start:  # the warnings of the first chunk are enough
            warn_of_inputs(run, sources, request.options, first=start + 1)
        prefix = prefixes[start : start + len(texts)] if prefixes is not None else [request.prefix or ""] * len(texts)
        yield table, run.predict(sources, prefix=prefix, decoding=decoding)
        start += len(texts)
        advance(len(texts))


def write_lines(request: BulkRequest, chunks: "Chunks", sink: BufferedIOBase) -> None:
    """Write predictions as texts or JSON lines as they come.

    Args:
        request: what is predicted.
        chunks: rows and their predictions.
        sink: the file that is written.
    """
    for _, predictions in chunks:
        for each in predictions:
            sink.write(f"{write_line(each, request.form, attention=request.attention)}\n".encode())


def write_rows(tables: "Iterable[DataTable]", empty: "DataTable", kind: "Kind", out: Path, sink: BufferedIOBase) -> int:
    """Write tables one below the other as they come, and return the bytes before the first row.

    Args:
        tables: tables with the columns of predictions.
        empty: their columns without rows.
        kind: the format to write.
        out: the name of the whole output, which may end in `.gz`.
        sink: the file that is written.
    """
    from seq2see.data.formats.data_table import to_arrow, write_table
    from seq2see.data.formats.file_bytes import packing
    from seq2see.data.formats.parquet import write_tables

    with packing(sink, out) as packed:
        if kind == "parquet":
            write_tables((to_arrow(table, out) for table in chain([empty], tables)), packed)
            return 0
        plain = Path(f"rows.{kind}")
        head = write_table(empty, kind, plain)
        packed.write(head)
        for table in tables:
            packed.write(write_table(table, kind, plain).removeprefix(head))
        return len(head)


def add_predictions(run: "Run", chunks: "Chunks", outputs: int, names: Sequence[str]) -> "Iterator[DataTable]":
    """Yield tables with the columns of their predictions.

    Args:
        run: the run that predicts.
        chunks: rows and their predictions.
        outputs: how many outputs of each row were asked for.
        names: the columns that every table must have then.

    Raises:
        SearchError: a search of somebody's own gives more outputs than it says.
    """
    from seq2see.runs.prediction_columns import list_columns

    for table, predictions in chunks:
        whole = table.add(list_columns(run, predictions, outputs))
        if whole.names != names:
            raise SearchError("a search must say by n_best how many outputs it gives at most; got more; fix it.")
        yield whole


def join_shards(request: BulkRequest) -> None:
    """Join all shards into the whole output, byte for byte as one process writes it, in one step.

    Args:
        request: what was predicted.

    Raises:
        DataError: shards are missing, or belong to something else.
    """
    from seq2see.data.formats.file_bytes import open_bytes, packing
    from seq2see.data.formats.parquet import write_tables
    from seq2see.data.formats.parquet_stream import ParquetStream
    from seq2see.data.formats.table_kind import find_kind
    from seq2see.runs.shards import CHUNK_ROWS, gather_shards
    from seq2see.system.files import writing_atomic

    shards = gather_shards(request.out, request.make_stamp())
    table = request.form is Format.table
    with writing_atomic(request.out) as sink, packing(sink, request.out if table else Path("lines")) as out:
        if table and find_kind(request.out.name) == "parquet":
            streams = [ParquetStream(file) for file, _ in shards]
            rows = (part for each in streams for part in each.read(range(each.count), CHUNK_ROWS))
            write_tables(chain([streams[0].empty], rows), out)
        else:
            for place, (file, stamp) in enumerate(shards):
                with open_bytes(file) as content:
                    content.seek(stamp.head if place else 0)
                    shutil.copyfileobj(content, out)
    tell(f"{say_count(len(shards), 'shard')} joined: {request.out}")
