"""Files of several formats as raw rows, one at a time."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

from pipeline.config import RecipeError

ROWS_PER_READ = 1024
TEXT_SHOWN = 2000
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """One row: its 0-based number, and its fields or the reason why there are none (with the raw text)."""

    index: int
    row: dict[str, Any] | None = None
    reason: str = ""
    detail: str = ""
    text: str = ""


class HubPlace(Protocol):
    """Where a data set lies: what `datasets.load_dataset` needs."""

    @property
    def hub(self) -> str | None: ...
    @property
    def subset(self) -> str | None: ...
    @property
    def revision(self) -> str | None: ...
    @property
    def split(self) -> str: ...


def read_raw(place: str, path: Path | None, format_name: str | None, hub: HubPlace) -> Iterator[RawRow]:
    """Rows in file order. Raises RecipeError naming the file when it cannot be opened or read to its end."""
    if path is None or path.is_dir():
        yield from _read_dataset(place, path, hub)
        return
    yield from read_file(path, format_name)


def read_file(path: Path, format_name: str | None = None) -> Iterator[RawRow]:
    """Rows of one file; the format by its name where none is given. Raises RecipeError as `read_raw` does."""
    kind = format_name or infer_format(path)
    reader = {"jsonl": _read_jsonl, "json": _read_json, "csv": _read_csv, "parquet": _read_parquet}[kind]
    before = _fingerprint(path)
    try:
        yield from reader(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecipeError(f"{path}: damaged or truncated compressed file ({error}); fetch it again") from None
    except OSError as error:
        raise RecipeError(f"{path}: cannot read the file ({error.strerror or error}); check the path") from None
    if _fingerprint(path) != before:
        raise RecipeError(f"{path}: the file changed while it was read; run again once it is complete")


def _fingerprint(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def infer_format(path: Path) -> str:
    """By suffix, `.gz` and `.zst` set aside. Raises RecipeError for an unknown one."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    if not suffixes or suffixes[-1] not in SUFFIXES:
        known = ", ".join(sorted(SUFFIXES))
        raise RecipeError(f"{path}: cannot tell the format from the name; set format, or use one of {known}")
    return SUFFIXES[suffixes[-1]]


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")
    if path.suffix.lower() == ".zst":
        import zstandard

        _check_zstd(path)
        reader = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
        return io.BufferedReader(cast(io.RawIOBase, reader))
    return path.open("rb")


def _read_jsonl(path: Path) -> Iterator[RawRow]:
    index = 0
    with _open(path) as handle:
        for line in handle:
            if line.strip():
                yield _json_row(line, index)
                index += 1


def _json_row(line: bytes, index: int) -> RawRow:
    shown = line[:TEXT_SHOWN].decode("utf-8", "replace").strip()
    try:
        value = json.loads(line.decode("utf-8-sig" if index == 0 else "utf-8"))
    except UnicodeDecodeError as error:
        return RawRow(index=index, reason="invalid-utf8", detail=f"byte {error.start} is not UTF-8", text=shown)
    except (ValueError, RecursionError) as error:
        return RawRow(index=index, reason="not-json", detail=str(error)[:200], text=shown)
    return _object_row(value, index, shown)


def _object_row(value: Any, index: int, shown: str) -> RawRow:
    """A list of objects (question turn, answer turn) is a row as well: its fields are the places `0`, `1` ..."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        value = {str(place): item for place, item in enumerate(value)}
    if not isinstance(value, dict):
        return RawRow(
            index=index, reason="wrong-type", detail=f"row is {type(value).__name__}, not an object", text=shown
        )
    return RawRow(index=index, row=value, text=shown)


def _read_json(path: Path) -> Iterator[RawRow]:
    """A JSON array of objects; a file that does not begin with `[` is read as JSON Lines."""
    with _open(path) as handle:
        head = handle.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if head[:1] != b"[":
            yield from _read_jsonl(path)
            return
        rest = handle.read()
    try:
        rows = json.loads((head + rest).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"{path}: not a JSON array ({error}); mend the file, or give JSON Lines") from None
    for index, value in enumerate(rows):
        yield _object_row(value, index, json.dumps(value)[:TEXT_SHOWN])


def _read_csv(path: Path) -> Iterator[RawRow]:
    csv.field_size_limit(2**31 - 1)
    with _open(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.DictReader(text, restkey="(more)")
        rows = iter(reader)
        index = 0
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield RawRow(index=index, reason="not-csv", detail=str(error))
            else:
                yield _csv_row(row, index)
            index += 1


def _csv_row(row: dict[Any, Any], index: int) -> RawRow:
    joined = "\x1f".join(str(value) for value in row.values())
    try:
        joined.encode("utf-8")
    except UnicodeEncodeError:
        shown = joined[:TEXT_SHOWN].encode("utf-8", "replace").decode()
        return RawRow(index=index, reason="invalid-utf8", detail="the row is not UTF-8", text=shown)
    return RawRow(index=index, row={str(key): value for key, value in row.items()})


def _read_parquet(path: Path) -> Iterator[RawRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    index = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_PER_READ):
                for row in _batch_rows(batch):
                    yield (
                        RawRow(index=index, row=row)
                        if row is not None
                        else RawRow(index=index, reason="invalid-utf8", detail="the row is not UTF-8")
                    )
                    index += 1
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file system's word, not that of a damaged page
        raise RecipeError(f"{path}: not a readable Parquet file ({error}); fetch or write it again") from None


def _batch_rows(batch: Any) -> Iterator[dict[str, Any] | None]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for place in range(batch.num_rows):
            yield _one_row(batch, place)


def _one_row(batch: Any, place: int) -> dict[str, Any] | None:
    try:
        return batch.slice(place, 1).to_pylist()[0]
    except UnicodeDecodeError:
        return None


def _check_zstd(path: Path) -> None:
    """zstandard ends silently at a truncated frame; a walk over the stream finds it before any row is used."""
    import zstandard

    with path.open("rb") as handle:
        decompressor = zstandard.ZstdDecompressor().decompressobj(read_across_frames=False)
        fresh = True
        while block := handle.read(1 << 20):
            while block:
                try:
                    decompressor.decompress(block)
                except zstandard.ZstdError as error:
                    raise RecipeError(f"{path}: damaged zstd file ({error}); fetch it again") from None
                fresh = False
                block = b""
                if decompressor.eof:
                    block = decompressor.unused_data
                    decompressor = zstandard.ZstdDecompressor().decompressobj(read_across_frames=False)
                    fresh = True
    if not fresh:
        raise RecipeError(f"{path}: truncated zstd file; fetch it again")


def _read_dataset(place: str, path: Path | None, hub: HubPlace) -> Iterator[RawRow]:
    """A folder written by `save_to_disk`, a folder of data files, or a data set of the hub."""
    import datasets
    from datasets.exceptions import DatasetsError

    try:
        data = _load_dataset(path, hub, datasets)
    except (OSError, ValueError, DatasetsError, KeyError) as error:
        message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RecipeError(f"{place}: cannot load the data set ({message}); check path, subset, split") from None
    for index, row in enumerate(data):
        yield RawRow(index=index, row=dict(row))


def _load_dataset(path: Path | None, hub: HubPlace, datasets: Any) -> Any:
    saved = path is not None and any((path / name).exists() for name in ("state.json", "dataset_dict.json"))
    if saved:
        data = datasets.load_from_disk(str(path))
        return data[hub.split] if isinstance(data, datasets.DatasetDict) else data
    name = str(path) if path is not None else hub.hub
    return datasets.load_dataset(name, name=hub.subset, revision=hub.revision, split=hub.split)
