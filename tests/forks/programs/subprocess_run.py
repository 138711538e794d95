# innocent, silent
# Starting a program is no fork of this one.
import asyncio
import subprocess

import torch

torch.cuda.init()
subprocess.run(["true"], check=True)


async def main():
    return await (await asyncio.create_subprocess_exec("true")).wait()


raise SystemExit(asyncio.run(main()))
