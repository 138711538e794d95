"""The jobs in SQLite. Every change of state is one statement, so whoever competes for a job, one gets it."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from speech_notes.jobs import Ending, Job, State

VERSION = 2
PATIENCE = 30.0
"""Seconds to wait while somebody else writes."""
MOST_ATTEMPTS = 3
"""A job that was running so often when its server died is not begun again: it may be the reason."""

_TABLE = f"""
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ({", ".join(f"'{state}'" for state in State)})),
    attempt INTEGER NOT NULL DEFAULT 0,
    transcript TEXT NOT NULL,
    created REAL NOT NULL,
    started REAL,
    finished REAL,
    error TEXT,
    signal TEXT,
    note TEXT,
    process TEXT
) STRICT;
"""
_SCHEMA = f"""
{_TABLE}
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
PRAGMA user_version = {VERSION};
"""
_FROM_VERSION_1 = f"""
BEGIN IMMEDIATE;
DROP INDEX jobs_by_state;
ALTER TABLE jobs RENAME TO jobs_before;
{_TABLE}
INSERT INTO jobs SELECT * FROM jobs_before;
DROP TABLE jobs_before;
PRAGMA user_version = {VERSION};
COMMIT;
"""
"""The states that a job can be in are a rule of the table, and the first version knew no cancelled ones."""
_SHOWN = "id, state, attempt, created, started, finished, error, signal, note, process"


class StoreError(Exception):
    """The database cannot be used; the message says why."""


class Store:
    """The jobs of one data folder. Each call has a connection of its own, so any thread may call."""

    def __init__(self, file: Path) -> None:
        self._file = file
        _keep_private(file)
        with self._connected() as database:
            (found,) = database.execute("PRAGMA user_version").fetchone()
            if found not in (0, 1, VERSION):
                raise StoreError(f"{file} was written by another version ({found}) of this example")
            database.execute("PRAGMA journal_mode = WAL")
            if found == 1:
                database.executescript(_FROM_VERSION_1)
            database.executescript(_SCHEMA)
        # Who closes a database last waits until all of it is on the disk, and that would be each call.
        held = sqlite3.connect(file, check_same_thread=False)
        held.execute("PRAGMA user_version").fetchone()
        self._let_go = weakref.finalize(self, held.close)

    def close(self) -> None:
        """Have everything in one file, if nobody else has it open."""
        self._let_go()

    def submit(self, transcript: str, most_queued: int) -> Job | None:
        """A new job; None if so many are waiting already."""
        rows = self._change(
            "INSERT INTO jobs (id, state, transcript, created) SELECT ?, 'queued', ?, ? "
            "WHERE (SELECT count(*) FROM jobs WHERE state = 'queued') < ? "
            f"RETURNING {_SHOWN}",
            secrets.token_urlsafe(16),
            transcript,
            time.time(),
            most_queued,
        )
        return _job(rows[0]) if rows else None

    def take(self) -> tuple[Job, str] | None:
        """The oldest job that waits, now running and ours, with its transcript; None if none waits."""
        rows = self._change(
            # The time is told before the turn to write has come, and a job may have been added in between.
            "UPDATE jobs SET state = 'running', attempt = attempt + 1, started = max(created, ?) "
            "WHERE number = (SELECT number FROM jobs WHERE state = 'queued' ORDER BY number LIMIT 1) "
            f"AND state = 'queued' RETURNING {_SHOWN}, transcript",
            time.time(),
        )
        return (_job(rows[0][:-1]), rows[0][-1]) if rows else None

    def finish(self, job: Job, ending: Ending) -> bool:
        """Write down how a job ended; False if it is not this attempt's to end any more."""
        rows = self._change(
            "UPDATE jobs SET state = ?, finished = ?, error = ?, signal = ?, note = ?, process = ? "
            "WHERE id = ? AND attempt = ? AND state = 'running' RETURNING id",
            ending.state,
            time.time(),
            ending.error,
            ending.signal,
            _packed(ending.note),
            _packed(ending.process),
            job.id,
            job.attempt,
        )
        return bool(rows)

    def cancel(self, name: str) -> Job | None:
        """End a job that waits or runs, because nobody wants it; None if there is no such job.

        Its process may be there still: whoever finishes this attempt finds that it has ended already.
        """
        rows = self._change(
            "UPDATE jobs SET state = 'cancelled', finished = ? "
            f"WHERE id = ? AND state IN ('queued', 'running') RETURNING {_SHOWN}",
            time.time(),
            name,
        )
        return _job(rows[0]) if rows else None

    def put_back(self, job: Job) -> bool:
        """Let a running job wait again, as if it had not been begun: its server goes down in good order."""
        rows = self._change(
            "UPDATE jobs SET state = 'queued', attempt = attempt - 1, started = NULL "
            "WHERE id = ? AND attempt = ? AND state = 'running' RETURNING id",
            job.id,
            job.attempt,
        )
        return bool(rows)

    def recover(self) -> tuple[int, int]:
        """Deal with what was running when a server died: how many wait again, and how many were given up.

        Only who knows that no other server works on this database may call it.
        """
        lost = self._change(
            "UPDATE jobs SET state = 'failed', finished = ?, error = ? "
            "WHERE state = 'running' AND attempt >= ? RETURNING id",
            time.time(),
            f"the server died {MOST_ATTEMPTS} times while this job ran, so it was not begun again",
            MOST_ATTEMPTS,
        )
        again = self._change(
            "UPDATE jobs SET state = 'queued', started = NULL WHERE state = 'running' RETURNING id"
        )
        return len(again), len(lost)

    def job(self, name: str) -> Job | None:
        """A job by its id."""
        with self._connected() as database:
            row = database.execute(f"SELECT {_SHOWN} FROM jobs WHERE id = ?", (name,)).fetchone()
        return None if row is None else _job(row)

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        with self._connected() as database:
            found = dict(database.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())
        return {str(state): found.get(state, 0) for state in State}

    def forget(self, keep: int) -> int:
        """Delete all but the youngest jobs that have ended; how many that were."""
        rows = self._change(
            "DELETE FROM jobs WHERE number IN (SELECT number FROM jobs "
            "WHERE state NOT IN ('queued', 'running') ORDER BY number DESC LIMIT -1 OFFSET ?) RETURNING id",
            keep,
        )
        return len(rows)

    def _change(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connected() as database:
            # All rows are fetched: only then is the statement done, and what it changed is written.
            return database.execute(statement, values).fetchall()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            database = sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)
        except sqlite3.Error as error:
            raise StoreError(f"cannot open {self._file}: {error}") from error
        try:
            database.execute("PRAGMA synchronous = NORMAL")
            yield database
        finally:
            database.close()


def _keep_private(file: Path) -> None:
    """Let nobody else read the database; SQLite gives the files beside it the same mode."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        for each in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
            if each.exists():
                each.chmod(0o600)
    except OSError as error:
        raise StoreError(f"cannot open {file}: {error}") from error


def _packed(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _job(row: tuple[Any, ...]) -> Job:
    name, state, attempt, created, started, finished, error, signal, note, process = row
    return Job(
        id=name,
        state=State(state),
        attempt=attempt,
        created=created,
        started=started,
        finished=finished,
        error=error,
        signal=signal,
        note=None if note is None else json.loads(note),
        process=None if process is None else json.loads(process),
    )
