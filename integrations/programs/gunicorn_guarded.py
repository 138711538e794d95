"""gunicorn's configuration with a guard: a master that torch has worked in forks no worker."""

from __future__ import annotations

import coldfork

coldfork.guard("strict")
