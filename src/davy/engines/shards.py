"""Folders of Parquet shards, on a disk or in an object store by URL, and the work over one.

`open_shards` takes a path, `file://…`, `s3://…`, `gs://…` or whatever else pyarrow's file systems know. A shard is
written complete or not at all: by a rename on a disk, by the end of the upload in a store. Names that start with `_` or
`.` hold no posts. Work is cut into units, done by an engine, and its results come in the units' order: a worker reads
its rows from where they lie and writes its shard itself.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

from davy.core.errors import UserError, nearest
from davy.core.install import install_extra
from davy.core.reporter import SILENT, Reporter
from davy.engines.unit_work import ENGINES, Engine, LocalEngine, WorkerClass
from davy.files.atomic import make_folder, write_bytes
from davy.files.file_table import ALWAYS_JSON, translate_errors
from davy.files.formats import STDIO, names_format
from davy.files.parquet import NOTE

if TYPE_CHECKING:
    import polars as pl


SUFFIX = ".parquet"


class FileFolder(Protocol):
    """A place that holds files under names."""

    @property
    def url(self) -> str: ...

    def names(self) -> list[str]: ...
    def open(self, name: str) -> IO[bytes]: ...
    def write(self, name: str, content: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class DiskFolder:
    """A folder on a disk."""

    url: str

    def names(self) -> list[str]:
        """Return the names of its files."""
        folder = Path(self.url)
        return sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []

    def open(self, name: str) -> IO[bytes]:
        """Return a file to read."""
        return (Path(self.url) / name).open("rb")

    def write(self, name: str, content: bytes) -> None:
        """Write a file, complete or not at all."""
        make_folder(Path(self.url))
        write_bytes(Path(self.url) / name, content)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (Path(self.url) / name).unlink(missing_ok=True)


class StoreFolder:
    """A folder of an object store, reached through pyarrow."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            from pyarrow import fs
        except ImportError:
            raise UserError(f"{hide_password(url)} needs pyarrow: {install_extra('scale')}") from None
        try:
            self._files, root = fs.FileSystem.from_uri(url)
            self._root = root.rstrip("/")
        except (OSError, ValueError, NotImplementedError) as error:
            raise UserError(f"{hide_password(url)} can't be opened: {str(error).splitlines()[0][:200]}") from None

    def names(self) -> list[str]:
        """Return the names of its files."""
        from pyarrow import fs

        infos = self._call(self._files.get_file_info, fs.FileSelector(self._root, allow_not_found=True))
        return sorted(info.base_name for info in infos if info.type == fs.FileType.File)

    def open(self, name: str) -> IO[bytes]:
        """Return a file to read."""
        opened: IO[bytes] = self._call(self._files.open_input_file, f"{self._root}/{name}")
        return opened

    def write(self, name: str, content: bytes) -> None:
        """Upload a file; it has its name once all of it is there."""
        with self._call(self._files.open_output_stream, f"{self._root}/{name}") as stream:
            stream.write(content)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if name in self.names():
            self._call(self._files.delete_file, f"{self._root}/{name}")

    def _call(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except OSError as error:
            raise UserError(f"{hide_password(self.url)}: {str(error).splitlines()[0][:200]}") from None


@dataclass(frozen=True, slots=True)
class ShardSlice:
    """Rows of one shard: `rows` of them from `start` on. `name` is that of the shard that they become."""

    shard: str
    start: int
    rows: int
    name: str


def open_folder(place: Path | str) -> FileFolder:
    """Return the folder of a path or URL."""
    text = str(place)
    parts = urlsplit(text)
    if parts.scheme == "file":
        return DiskFolder(unquote(parts.path))
    if "://" in text:
        return StoreFolder(text)
    return DiskFolder(str(Path(text).expanduser().absolute()))


def subfolder(place: str, name: str) -> str:
    """Return the path or URL of a folder within another; what follows a `?` stays at the end."""
    base, question_mark, query = place.partition("?") if "://" in place else (place, "", "")
    return f"{base.rstrip('/')}/{name}{question_mark}{query}"


def is_shards(place: Path | str) -> bool:
    """Return whether a path or URL means a folder of shards, not a file."""
    return "://" in str(place) or Path(place).is_dir()


def require_other_folder(source: FileFolder, out: str) -> None:
    """Raise where the output is no folder, or the folder that is read."""
    if out == STDIO or ("://" not in out and Path(out).is_file()):
        raise UserError("Shards are written into a folder or a URL. Name one with --out.")
    if open_folder(out).url == source.url:
        raise UserError(f"{hide_password(out)} is the input. Write to another folder.")


def hide_password(url: str) -> str:
    """Return a URL without what stands before its host: an error must not show a key."""
    scheme, colon, rest = url.partition("://")
    host = rest.split("?")[0]
    return f"{scheme}{colon}{host.rpartition('@')[2]}" if colon else url


def open_shards(place: Path | str) -> tuple[FileFolder, list[str]]:
    """Return where shards lie and their names in order: those of a folder, or a Parquet file as the only one."""
    path = Path(str(place)).expanduser()
    if "://" not in str(place) and path.is_file():
        if path.suffix != SUFFIX:
            raise UserError(f"{path} is not Parquet. Make it so first: davy convert {path} --out {path.stem}{SUFFIX}")
        return open_folder(path.parent), [path.name]
    folder = open_folder(place)
    if isinstance(folder, DiskFolder) and not Path(folder.url).is_dir():
        raise UserError(f"The folder {folder.url} does not exist.")
    return folder, _shard_names(folder)


def _shard_names(folder: FileFolder) -> list[str]:
    names = [name for name in folder.names() if name.endswith(SUFFIX) and not name.startswith(("_", "."))]
    if not names:
        raise UserError(
            f"{hide_password(folder.url)} holds no .parquet shard. davy convert makes Parquet of other files."
        )
    return names


def slices(folder: FileFolder, shards: list[str], rows: int) -> list[ShardSlice]:
    """Return shards cut into slices of at most `rows`; reads the shards' ends alone.

    A shard that is cut becomes `NAME-0000.parquet`, `NAME-0001.parquet` …: names in order keep the rows in order.
    """
    cut: list[ShardSlice] = []
    for shard in shards:
        n = count_rows(folder, shard)
        stem = shard.removesuffix(SUFFIX)
        many = n > rows
        for number, start in enumerate(range(0, max(n, 1), rows)):
            name = f"{stem}-{number:04}{SUFFIX}" if many else shard
            cut.append(ShardSlice(shard, start, min(rows, n - start), name))
    names = [piece.name for piece in cut]
    if len(set(names)) < len(names):
        raise UserError(f"Two shards of {hide_password(folder.url)} would be cut into parts of one name. Rename one.")
    return cut


def count_rows(folder: FileFolder, name: str) -> int:
    """Return how many rows a shard has, by what its end says."""
    with _open_parquet(folder, name) as file:
        return int(file.metadata.num_rows)


def read_columns(folder: FileFolder, name: str) -> tuple[list[str], frozenset[str]]:
    """Return a shard's columns, and which of them hold JSON."""
    with _open_parquet(folder, name) as file:
        noted = json.loads((file.metadata.metadata or {}).get(NOTE.encode(), b"[]"))
        columns = list(file.schema_arrow.names)
    return columns, frozenset(column for column in (ALWAYS_JSON, *noted) if column in columns)


def read_slice(folder: FileFolder, piece: ShardSlice) -> pl.DataFrame:
    """Return the rows of a slice; reads the row groups that hold them."""
    import polars as pl

    if isinstance(folder, DiskFolder):
        with translate_errors(piece.shard):
            path = Path(folder.url) / piece.shard
            return pl.scan_parquet(path, glob=False).slice(piece.start, piece.rows).collect()
    with _open_parquet(folder, piece.shard) as file:
        groups: list[int] = []
        first = before = 0
        for group in range(file.num_row_groups):
            n = file.metadata.row_group(group).num_rows
            if before + n > piece.start and before < piece.start + piece.rows:
                first = before if not groups else first
                groups.append(group)
            before += n
        frame = pl.from_arrow(file.read_row_groups(groups))
    assert isinstance(frame, pl.DataFrame)
    return frame.slice(piece.start - first, piece.rows)


def write_shard(folder: FileFolder, name: str, frame: pl.DataFrame, json_columns: frozenset[str]) -> None:
    """Write a frame as a shard, as `files.parquet` writes one."""
    buffer = io.BytesIO()
    noted = sorted(column for column in json_columns if column in frame.columns)
    frame.write_parquet(
        buffer, compression="snappy", row_group_size=65_536, statistics=False, metadata={NOTE: json.dumps(noted)}
    )
    folder.write(name, buffer.getvalue())


@contextmanager
def _open_parquet(folder: FileFolder, name: str) -> Iterator[Any]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UserError(f"Folders of shards need pyarrow: {install_extra('scale')}") from None
    try:
        with folder.open(name) as file:
            yield pq.ParquetFile(file)
    except FileNotFoundError:
        raise UserError(
            f"{hide_password(folder.url)}/{name} is not on this machine. Use a folder that every node sees, or a URL."
        ) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{name} is no Parquet file that can be read: {str(error).splitlines()[0][:120]}") from None


@dataclass(frozen=True, slots=True)
class ShardWork:
    """Shards to read, cut into units, and the folder in which each unit becomes a shard; columns as in the first."""

    source: FileFolder
    out: FileFolder
    units: list[ShardSlice]
    columns: list[str]
    json_columns: frozenset[str]


def open_work(source: str, out: str, rows: int) -> ShardWork:
    """Return the work from `source` to `out`, in units of at most `rows`."""
    folder, names = open_shards(source)
    target = open_folder(out)
    require_other_folder(folder, out)
    units = slices(folder, names, rows)
    return ShardWork(folder, target, units, *read_columns(folder, units[0].shard))


def map_shards(
    work: ShardWork,
    units: Sequence[ShardSlice],
    worker: str,
    arguments: Mapping[str, Any],
    engine: Engine | None,
    reporter: Reporter = SILENT,
    **more: Any,
) -> list[Any]:
    """Return what a worker ("module:Class") makes of each unit, in their order; `more` goes into every unit.

    The worker is made with `source`, `out`, `json_columns` and `arguments`; without an engine, in this process.
    """
    given = {"source": work.source.url, "out": work.out.url, "json_columns": sorted(work.json_columns), **arguments}
    results: list[Any] = [None] * len(units)
    tasks = [{**asdict(unit), **more} for unit in units]
    for place, result in (engine or LocalEngine()).run(WorkerClass(worker, given), tasks):
        results[place] = result
        reporter.advance(units[place].rows)
    return results


def uses_shards(path: str, out: str, engine: str, address: str | None, workers: int | None) -> bool:
    """Return whether a run goes from shards to shards: on Ray always, else from a folder or URL to a folder or URL.

    A folder that is written to one file (`--out scored.csv`) is read as one table.
    """
    if engine not in ENGINES:
        raise UserError(
            f"There is no engine {engine!r}; there are {', '.join(ENGINES)}.{nearest(engine, list(ENGINES))}"
        )
    if engine == "local" and (address is not None or workers is not None):
        raise UserError("--address and --workers go with --engine ray.")
    to_folder = "://" in out or (out != STDIO and not names_format(out))
    return engine == "ray" or "://" in path or (is_shards(path) and to_folder)


@contextmanager
def open_engine(engine: str, address: str | None = None, workers: int | None = None) -> Iterator[Engine]:
    """Yield the engine of this name; a cluster is left when the block ends."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers is {workers}; give at least 1.")
    if engine == "local":
        yield LocalEngine()
        return
    from davy.engines.ray_cluster import open_cluster

    with open_cluster(address, workers) as cluster:
        yield cluster
