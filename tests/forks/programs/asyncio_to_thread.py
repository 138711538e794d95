# innocent, silent
# The worker of asyncio.to_thread waits, and the child does its own work.
import asyncio
import os


async def main():
    await asyncio.to_thread(int)
    child = os.fork()
    if not child:
        os._exit(0)
    return os.waitpid(child, 0)[1]


raise SystemExit(asyncio.run(main()))
