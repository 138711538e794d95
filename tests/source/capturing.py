"""Small engines that capture graphs, as vLLM's were when they went wrong, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from coldfork.model.findings import Finding
from tests.source.expectations import PLAIN, expected, findings_of, lay_out, said

RULES = (
    "capture-reuses-warmup-state",
    "lazy-init-in-captured-region",
    "sync-in-captured-region",
    "capture-before-warmup",
)

BACKEND = '''
### engine/__init__.py
### engine/backend.py
"""Attention that plans its work on first use."""

import torch


class TileScheduler:
    def __init__(self):
        self.initialised = False
        self.plan = None


class Metadata:
    def __init__(self, lengths):
        self.lengths = lengths
        self.tile_scheduler = TileScheduler()


class Engine:
    def __init__(self, tokens):
        self.x = torch.zeros(tokens, device="cuda")
        self.lengths = torch.ones(tokens, device="cuda")
        self.scratch = torch.zeros(tokens, device="cuda")

    def build(self):
        metadata = Metadata(self.lengths)
        return {"layer.0": metadata, "layer.1": metadata}

    def attend(self, hidden, metadata):
        tiles = metadata.tile_scheduler
        if not tiles.initialised:
            tiles.plan = torch.cumsum(metadata.lengths, 0, out=self.scratch)
            tiles.initialised = True
        return hidden * 2 + tiles.plan

    def forward(self, state):
        hidden = self.x + 1
        for metadata in state.values():
            hidden = self.attend(hidden, metadata)
        return hidden
'''

#: A manager as vLLM's: it is given what makes a forward function, and captures what that makes.
MANAGER = '''
### engine/manager.py
"""Captures what it is given."""

import torch


class GraphManager:
    def __init__(self):
        self.graphs = {{}}

    def capture(self, create_forward, descriptors):
        states = {{}}
        for descriptor in descriptors:
            forward, warm = create_forward(descriptor, warmup=True)
            forward()
            forward, state = create_forward(descriptor, warmup=False)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  {expectation}
                forward()
            self.graphs[descriptor] = graph
            states[descriptor] = (warm, state)
        return states
'''


def check(text: str, folder: Path) -> tuple[Finding, ...]:
    """Hold what is said of a package against its comments; only the lines of captures are spoken of."""
    files = lay_out(text, folder)
    findings = tuple(one for one in findings_of(folder, PLAIN) if one.rule in RULES)
    assert said(findings, files) == expected(files), [finding.message for finding in findings]
    return findings


def steps(finding: Finding) -> list[str]:
    """A chain, one step a line: who, and the source of the line."""
    texts = [step.text.partition("  #")[0] for step in finding.chain.steps]
    pairs = zip(finding.chain.steps, texts, strict=True)
    return [f"{step.symbol}: {text}" if text else step.symbol for step, text in pairs]


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The same program under other names, of modules too."""
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return pattern.sub(lambda match: names[match[1]], text)
