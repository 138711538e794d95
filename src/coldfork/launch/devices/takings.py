"""Take the locks of all wanted devices, or none of them, and divide the devices among workers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from coldfork.launch.devices import locks
from coldfork.launch.devices.locks import Lock
from coldfork.launch.devices.sight import Seen
from coldfork.launch.supervisor.limits import spoken
from coldfork.model.errors import LeaseError


@dataclass(frozen=True, slots=True)
class Wish:
    """A request for devices, in the form into which every kind of request is converted."""

    candidates: tuple[Seen, ...]
    """The devices that may be taken, in order of preference."""
    count: int | None
    """The number of devices; None means one slot for each worker."""
    named: bool = False
    """Whether the request names exactly these devices."""
    least: int = 0
    """The number of bytes that must be free on each device."""


class Holding:
    """The locks on one device, kept until the last worker that uses the device gives it back."""

    def __init__(self, held: list[Lock]) -> None:
        self._locks = held
        self._users = 0
        self._lock = threading.Lock()

    def enter(self) -> None:
        """Count one more worker that uses the device."""
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        """Count one worker less, and unlock the device after the last one."""
        with self._lock:
            self._users -= 1
            if self._users > 0:
                return
        self.release()

    def release(self) -> None:
        """Unlock the device, even if workers still use it."""
        for lock in reversed(self._locks):
            lock.release()


class Slot:
    """A worker's share of a device."""

    def __init__(self, device: Seen, holding: Holding) -> None:
        self.device = device
        self._holding: Holding | None = holding
        holding.enter()

    def release(self) -> None:
        """Give the share back; do nothing on a second call."""
        holding, self._holding = self._holding, None
        if holding is not None:
            holding.leave()


def taken(wish: Wish, workers: int, share: int, folder: Path) -> list[tuple[Slot, ...]]:
    """Return the slots taken for each worker; raise `LeaseError`, holding no lock, if there are too few."""
    try:
        with locks.door(folder), ExitStack() as undoing:
            found = _Taker(wish, share, folder, undoing).handed_out(workers)
            undoing.pop_all()
            return found
    except OSError as error:
        raise LeaseError(f"cannot take the locks of devices in {folder}: {error.strerror}") from error


class _Taker:
    """One attempt to take the wanted devices."""

    def __init__(self, wish: Wish, share: int, folder: Path, undoing: ExitStack) -> None:
        self._wish = wish
        self._share = share
        self._folder = folder
        self._undoing = undoing
        self._refused: dict[Seen, Path] = {}
        """The devices that other processes hold, each with the file that names the holder."""

    def handed_out(self, workers: int) -> list[tuple[Slot, ...]]:
        """Return the slots of each worker."""
        count = self._wish.count
        if count is None:
            return [(slot,) for slot in self._one_each(workers)]
        if count > workers:
            self._require_whole(count, workers)
            held = self._several([1] * count)
            bounds = [0, *accumulate(_spread(count, workers))]
            return [
                tuple(Slot(device, holdings[0]) for device, holdings in held[start:end])
                for start, end in pairwise(bounds)
            ]
        held = self._several(_spread(workers, count))
        return [(slot,) for slot in _dealt(held, workers, shared=self._share > 1)]

    def _one_each(self, workers: int) -> Iterator[Slot]:
        """Yield a slot for each worker; every available device gets one worker before any gets a second."""
        slots: list[Slot] = []
        for _ in range(self._share):
            for device in self._eligible():
                if len(slots) < workers and (holding := self._take(device)):
                    slots.append(Slot(device, holding))
        if len(slots) < workers:
            raise self._refusal(workers, len(slots))
        return iter(slots)

    def _several(self, wanted: list[int]) -> list[tuple[Seen, list[Holding]]]:
        """Take as many devices as `wanted` has entries; on each take as many slots as its entry says."""
        held: list[tuple[Seen, list[Holding]]] = []
        if self._share > 1 and max(wanted) > self._share:
            raise LeaseError(
                f"{sum(wanted)} workers on {len(wanted)} devices put {max(wanted)} on one device, but "
                f"only {self._share} may share one"
            )
        for device in self._eligible():
            if len(held) == len(wanted):
                break
            holdings = self._take_several(device, wanted[len(held)])
            if holdings:
                held.append((device, holdings))
        if len(held) < len(wanted):
            raise self._refusal(len(wanted), len(held))
        return held

    def _take_several(self, device: Seen, slots: int) -> list[Holding]:
        """Take a device's slots, all or none: under one lock if it is not shared, else one lock for each."""
        if self._share == 1:
            holding = self._take(device)
            return [holding] * slots if holding else []
        holdings: list[Holding] = []
        while len(holdings) < slots:
            holding = self._take(device)
            if holding is None:
                for one in holdings:
                    one.release()
                return []
            holdings.append(holding)
        return holdings

    def _eligible(self) -> Iterator[Seen]:
        for device in self._wish.candidates:
            if not self._is_full(device):
                yield device

    def _is_full(self, device: Seen) -> bool:
        return (device.free or 0) < self._wish.least

    def _take(self, device: Seen) -> Holding | None:
        """Lock a device exclusively, or one of its slots if it may be shared; None if that is refused."""
        path = self._file(device)
        if self._share == 1:
            alone = locks.exclusive(path)
            if alone is None:
                self._refused[device] = path
                return None
            return self._kept(Holding([alone]))
        together = locks.shared(path)
        if together is None:
            self._refused[device] = path
            return None
        for number in range(self._share):
            slot = locks.exclusive(self._file(device, number))
            if slot is not None:
                return self._kept(Holding([together, slot]))
        together.release()
        self._refused[device] = self._file(device, 0)
        return None

    def _kept(self, holding: Holding) -> Holding:
        self._undoing.callback(holding.release)
        return holding

    def _file(self, device: Seen, slot: int | None = None) -> Path:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", device.identity)
        return self._folder / (f"{name}.lock" if slot is None else f"{name}.{slot}.lock")

    def _require_whole(self, count: int, workers: int) -> None:
        if any(device.divided for device in self._wish.candidates):
            raise LeaseError(
                f"give each worker one device: some of the {count} for {workers} "
                f"worker{'s' if workers > 1 else ''} are instances of a divided device (MIG), and CUDA "
                "shows a process only one instance"
            )

    def _refusal(self, wanted: int, found: int) -> LeaseError:
        sentences: list[str] = []
        pids: list[int] = []
        for device in self._wish.candidates:
            if self._is_full(device):
                sentences.append(f"{device} has {_memory(device)}, but {spoken(self._wish.least)} are wanted")
            elif device in self._refused:
                said, holding = self._holders(device)
                sentences.append(f"{device} is leased by {said}")
                pids += holding
        wants = f"{wanted} device{' is' if wanted == 1 else 's are'} wanted"
        if self._wish.named:
            beginning = f"{wants}, but not all are free"
        else:
            beginning = f"{wants}, {len(self._wish.candidates)} are visible, and {found} can be leased"
        # No device was refused because of its lock, so there are simply too few.
        remedy = "to let several workers use one device, set share, or ask for fewer devices than workers"
        if sentences:
            beginning += f": {'; '.join(sentences)}"
            remedy = "wait until one is free, or ask for fewer"
        return LeaseError(f"{beginning}; {remedy}", tuple(pids), may_pass=bool(sentences))

    def _holders(self, device: Seen) -> tuple[str, tuple[int, ...]]:
        path = self._refused[device]
        if self._share > 1 and locks.holder(self._file(device)) is None:
            path = self._file(device, 0)
        elif self._share == 1 and locks.holder(path) is None:
            # Processes that share a device sign the files of their slots, not the device's own file.
            slots = sorted(self._folder.glob(f"{path.stem}.*.lock"))
            path = next((slot for slot in slots if locks.holder(slot)), path)
        return locks.describe(path)


def _spread(things: int, places: int) -> list[int]:
    """Distribute `things` over `places` as evenly as possible; return how many each place gets."""
    each, more = divmod(things, places)
    return [each + (place < more) for place in range(places)]


def _dealt(held: list[tuple[Seen, list[Holding]]], workers: int, *, shared: bool) -> Iterator[Slot]:
    """Yield a slot for each worker, taking the devices in turn."""
    for number in range(workers):
        device, holdings = held[number % len(held)]
        yield Slot(device, holdings[number // len(held)] if shared else holdings[0])


def _memory(device: Seen) -> str:
    total = "" if device.total is None else f" of {spoken(device.total)}"
    users = f", used by pid {', '.join(map(str, device.processes))}" if device.processes else ""
    return f"{spoken(device.free or 0)} free{total}{users}"
