"""`coldfork mcp`: a real client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.once

SAFE = "import torch\n\n\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n"
LOG = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, ..."


async def conversation(project: Path) -> list[tuple[bool, str]]:
    """What the tools answer, one after the other, and whether as an error; first their names."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "coldfork", "mcp"], cwd=project, env=dict(os.environ)
    )
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("check", {"paths": ["src"]}),
        ("explain", {"rule": "driver-init-at-import"}),
        ("explain", {"log": LOG}),
        ("fix", {"paths": ["src"]}),
        ("check", {"paths": ["src"]}),
        ("fix", {"paths": ["src"], "write": True}),
        ("check", {"paths": ["src"]}),
        ("check", {"paths": ["nowhere"]}),
        ("explain", {"rule": "no-such-rule"}),
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        answers = [(False, " ".join(sorted(tool.name for tool in (await session.list_tools()).tools)))]
        for name, arguments in calls:
            answer = await session.call_tool(name, arguments)
            text = "".join(getattr(part, "text", "") for part in answer.content)
            answers.append((bool(answer.is_error), text))
        return answers


def test_an_agent_checks_explains_and_mends(project: Path) -> None:
    pytest.importorskip("mcp")  # not while the tests are collected, by every worker: it takes a second
    (project / "nothing").mkdir()
    settings = '[tool.coldfork]\nsite-packages = ["nothing"]\n'
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")
    file = project / "src/engine/core.py"
    file.write_text(SAFE, encoding="utf-8")
    answers = asyncio.run(conversation(project))
    assert [is_error for is_error, _ in answers] == [False] * 8 + [True] * 2
    names, found, page, story, shown, again, written, after, missing, unknown = [one for _, one in answers]
    assert names == "check explain fix"
    assert json.loads(found.splitlines()[0])["at"] == "src/engine/core.py:4:17"
    assert json.loads(found.splitlines()[-1])["next"][0] == "coldfork check src --diff"
    assert page.startswith("# driver-init-at-import\n")
    assert "cuda-in-forked-child" in story
    assert "+def f(x: bool = None):" in shown
    assert again == found
    assert shown == written
    assert json.loads(after.splitlines()[-1])["clean"] is True
    assert "x = torch.cuda.is_available()" in file.read_text(encoding="utf-8")
    assert "nowhere: no such file or folder" in missing
    assert "no-such-rule" in unknown
