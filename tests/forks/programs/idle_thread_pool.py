# innocent, silent
# The threads of the pool wait for work, with nothing locked that the child could want.
import os
from concurrent.futures import ThreadPoolExecutor

executor = ThreadPoolExecutor(2)
executor.submit(int).result()
child = os.fork()
if not child:
    print("child", flush=True)
    os._exit(0)
raise SystemExit(os.waitpid(child, 0)[1])
