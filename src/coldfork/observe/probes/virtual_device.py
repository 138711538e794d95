"""coldfork's virtual device, if it has no driver library that could be asked like a real one."""

from __future__ import annotations

from coldfork.observe.probes.modules import namespace
from coldfork.observe.probes.reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.reading import Awake


class VirtualDevice:
    """The virtual device of this process, if `coldfork.virtual` has been imported and has installed one."""

    module = "coldfork.virtual.installation"

    def _device(self) -> Any:
        names = namespace(self.module)
        installed = names.get("installed") if names is not None else None
        device = installed() if installed is not None else None
        # If the device has a library, the probe of the driver sees it like any other driver.
        return device if device is not None and device.library is None else None

    def awake(self) -> Awake:
        """Return the accelerator that the virtual device imitates, if it is awake."""
        device = self._device()
        level = device.level if device is not None else None
        return () if level is None else ((str(device.accelerator), str(level)),)

    def examine(self, process: ProbedProcess | None = None) -> Reading | None:
        """Return the virtual device's state; None if it is not installed, or has a driver library."""
        device = self._device()
        if device is None:
            return None
        return Reading(
            device.accelerator, device.state, "this is coldfork's virtual device", level=device.level
        )
