"""The rows of `progress.csv` as TensorBoard's scalars. Needs the extra `tensorboard`."""

import time
from pathlib import Path
from typing import Any

from brns.runs.progress import Row, read
from brns.runs.record import Record

SECONDS = 10.0  # between what is written and what a viewer sees of it


class TensorBoard:
    """Writes each run's rows to `tensorboard/` in its directory; `ImportError` without the extra.

    A run's first row brings the rows before it along and tells TensorBoard to forget earlier files. So no generation is
    missing or stands twice after a kill and `resume`.
    """

    def __init__(self) -> None:
        try:
            from tensorboardX import event_file_writer  # not SummaryWriter, whose thread can hang on a full disk
            from tensorboardX.proto import event_pb2, summary_pb2
        except ImportError:
            raise ImportError("--tensorboard needs tensorboardX: pip install 'brns[tensorboard]'") from None
        self.make: Any = event_file_writer.EventsWriter
        self.proto: Any = event_pb2
        self.summary: Any = summary_pb2
        self.files: dict[Path, Any] = {}
        self.flushed = time.monotonic()

    def __enter__(self) -> "TensorBoard":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.close()

    def add(self, record: Record, row: Row) -> None:
        """Write the row of a generation that was saved."""
        rows = [row]
        if record.path not in self.files:
            folder = record.path / "tensorboard"
            folder.mkdir(exist_ok=True)
            self.files[record.path] = self.make(str(folder / "events"))
            start = self.proto.SessionLog(status=self.proto.SessionLog.START)
            self._write(record, step=0, session_log=start)
            rows = [*read(record.path)[: row.generation], row]
        for one in rows:
            summary = self.summary.Summary()
            for name, value in one._asdict().items():
                if name != "generation" and value is not None:
                    summary.value.add(tag=name, simple_value=value)
            self._write(record, step=one.generation, summary=summary)
        if time.monotonic() > self.flushed + SECONDS:
            self.flushed = time.monotonic()
            for file in self.files.values():
                file.flush()

    def _write(self, record: Record, **content: Any) -> None:
        self.files[record.path].write_event(self.proto.Event(wall_time=time.time(), **content))
