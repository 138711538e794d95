"""Trains with Lightning in two processes, after torch worked in the parent: plain or coldfork"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader


class Line(LightningModule):
    """Fits a plane; large enough for torch to use more than one thread."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1024, 1024)

    def forward(self, rows: Any) -> Any:
        """The plane at these points."""
        return self.layer(rows)

    def training_step(self, batch: Any, index: int) -> Any:
        """One step."""
        return self(batch).square().mean()

    def configure_optimizers(self) -> Any:
        """The plainest."""
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_train_end(self) -> None:
        """Tell that this process came to the end."""
        print(f"rank {self.global_rank}: trained in a process other than the parent", flush=True)


def strategy(how: str) -> DDPStrategy:
    """`ddp_fork` as Lightning has it, or the same with the start method that coldfork decides on."""
    if how == "plain":
        return DDPStrategy(start_method="fork")
    import coldfork

    print("coldfork:", coldfork.decide(), flush=True)
    return DDPStrategy(start_method=coldfork.decide().method)


def main(how: str) -> None:
    """Evaluate the model once here, as one does to see that it works, and then train."""
    # Inherited by forked children: the watchdog asks them where they stand.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    model = Line()
    data = torch.randn(8, 256, 1024)
    print(f"the parent evaluated: {tuple(model(data).shape)}", flush=True)
    trainer = Trainer(
        accelerator="cpu",
        devices=2,
        strategy=strategy(how),
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=None))
    print(f"process {os.getpid()}: done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
