"""The process under test: imports a module of a program under watch and prints the events as JSON.

usage: watched_program.py FOLDER MODULE [MODULE OF STAGE 2 ...] [woken-by=MODULE]

With the last argument the device is awake as soon as that module is loaded, which cannot do it itself.
"""

import sys

FOLDER, MODULE, *STAGE2 = sys.argv[1:]
sys.path.insert(0, FOLDER)

import planted_device  # type: ignore[import-not-found]  # noqa: E402 - it lies beside this file

from coldfork.observe.watch import watch  # noqa: E402

if STAGE2 and STAGE2[-1].startswith("woken-by="):
    planted_device.Sensor.WOKEN_BY = STAGE2.pop().partition("=")[2]
events: list[dict[str, object]] = []
sensor = planted_device.Sensor()
watching = watch(
    events.append, stage2=STAGE2, sensor=sensor, states=sensor.examine, remember=lambda: None, outside=False
)
failure = None
try:
    __import__(MODULE)
except BaseException as error:
    failure = f"{type(error).__name__}: {error}"
watching.stop()

import json  # noqa: E402

print(
    json.dumps(
        {
            "failure": failure,
            "events": [event for event in events if event["event"] != "import"],
            "imports": [event["module"] for event in events if event["event"] == "import"],
        }
    )
)
