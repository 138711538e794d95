"""Programs that start processes: some whose children fail over a device, others that only look like it."""

from __future__ import annotations

#: By name: a file each, or several behind `### NAME`; the lines that fork too late end with `# fault`.
FAULTS = {
    "a-pool": """
import multiprocessing, torch
def work(i): return torch.ones(1, device="cuda") * i
def main():
    torch.cuda.init()
    with multiprocessing.get_context("fork").Pool(2) as pool:  # fault
        pool.map(work, range(4))
if __name__ == "__main__":
    main()
""",
    "a-process-by-default": """
import multiprocessing as mp
import torch

torch.cuda.set_device(0)

def work(): torch.zeros(1).cuda()

if __name__ == "__main__":
    process = mp.Process(target=work)
    process.start()  # fault
    process.join()
    raise SystemExit(process.exitcode)
""",
    "a-class-of-processes": """
import multiprocessing, torch

class Worker(multiprocessing.Process):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def run(self):
        torch.full((2,), self.number, device=f"cuda:{self.number}")

def main():
    print(torch.cuda.is_available())
    workers = [Worker(0)]
    for worker in workers:
        worker.start()  # fault
    for worker in workers:
        worker.join()
    raise SystemExit(workers[0].exitcode)

if __name__ == "__main__":
    main()
""",
    "an-executor": """
import concurrent.futures
import torch

def work(x): return float(torch.tensor([x]).to("cuda").sum())

def train():
    return torch.cuda.get_device_name(0)

if __name__ == "__main__":
    train()
    with concurrent.futures.ProcessPoolExecutor(max_workers=1) as pool:
        print(pool.submit(work, 1.0).result())  # fault
""",
    "a-context-kept": """
import multiprocessing, torch

class Engine:
    def __init__(self, method):
        self.context = multiprocessing.get_context(method)
        self.device = torch.cuda.current_device()

    def serve(self):
        self.worker = self.context.Process(target=self.loop, args=("x",))
        self.worker.start()  # fault
        self.worker.join()

    def loop(self, name):
        torch.cuda.synchronize()

if __name__ == "__main__":
    engine = Engine("fork")
    engine.serve()
    raise SystemExit(engine.worker.exitcode)
""",
    "an-import-that-wakes": """
### model.py
import torch
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
### run.py
import multiprocessing
import model
import torch

def work(i):
    return torch.ones(1).to(model.DEVICE)

if __name__ == "__main__":
    with multiprocessing.Pool(1) as pool:  # fault
        pool.map(work, range(2))
""",
    "a-partial": """
import functools
from multiprocessing import Pool, set_start_method
import torch

def work(scale, i):
    torch.cuda.set_device(0)
    return i * scale

if __name__ == "__main__":
    set_start_method("fork")
    torch.cuda.current_device()
    pool = Pool(1)  # fault
    pool.apply_async(functools.partial(work, 2), (3,)).get()
""",
    "a-pool-by-its-own-module": """
import torch
from multiprocessing.pool import Pool

def work(i): return torch.ones(1, device="cuda") * i

if __name__ == "__main__":
    torch.cuda.init()
    with Pool(1) as pool:  # fault
        pool.map(work, range(2))
""",
    "a-class-of-a-context": """
import multiprocessing, torch

context = multiprocessing.get_context("fork")

class Worker(context.Process):
    def run(self): torch.cuda.synchronize()

if __name__ == "__main__":
    torch.cuda.init()
    worker = Worker()
    worker.start()  # fault
    worker.join()
    raise SystemExit(worker.exitcode)
""",
    "a-class-that-forks": """
import torch
from multiprocessing.context import ForkProcess

def work(): torch.cuda.synchronize()

if __name__ == "__main__":
    torch.cuda.init()
    worker = ForkProcess(target=work)
    worker.start()  # fault
    worker.join()
    raise SystemExit(worker.exitcode)
""",
    "a-pool-kept": """
import multiprocessing, torch

def work(i): return torch.ones(1, device="cuda") * i

class Engine:
    def __init__(self):
        torch.cuda.init()
        self.pool = multiprocessing.get_context("fork").Pool(1)

    def run(self):
        with self.pool:
            self.pool.map(work, range(2))  # fault

if __name__ == "__main__":
    Engine().run()
""",
    "a-function-of-the-program": """
import torch
import torch.multiprocessing as mp

def spread(function, count):
    context = mp.get_context("fork")
    processes = []
    for rank in range(count):
        one = context.Process(target=function, args=(rank,))
        one.start()  # fault
        processes.append(one)
    for one in processes:
        one.join()
    return max(one.exitcode for one in processes)

def work(rank):
    torch.randn(2, device="cuda")

def main():
    torch.cuda.set_device("cuda:0")
    return spread(work, 1)

if __name__ == "__main__":
    raise SystemExit(main())
""",
    "a-loader": """
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return torch.tensor([i], device="cuda")

def main(workers=1):
    torch.cuda.init()
    loader = DataLoader(Numbers(), batch_size=2, num_workers=workers)
    for batch in loader:  # fault
        print(batch)

if __name__ == "__main__":
    main()
""",
    "a-loader-that-collates": """
import torch
from torch.utils.data import DataLoader

def collate(batch): return torch.tensor(batch).cuda()

class Trainer:
    def __init__(self):
        self.name = torch.cuda.get_device_name()
        self.loader = DataLoader(list(range(4)), 2, num_workers=2, collate_fn=collate)

    def fit(self):
        for epoch, batch in enumerate(self.loader):  # fault
            print(batch)

if __name__ == "__main__":
    Trainer().fit()
""",
    "a-command": """
### pyproject.toml
[project]
name = "engine"
version = "1"
scripts = {engine = "engine:main"}
### engine.py
import multiprocessing, torch

def work(): torch.zeros(1, device="cuda")

def main():
    torch.cuda.init()
    one = multiprocessing.get_context("fork").Process(target=work)
    one.start()  # fault
    one.join()
    return one.exitcode
### run.py
import sys
from engine import main
sys.exit(main())
""",
    "an-initializer": """
import multiprocessing, torch

def prepare(device): torch.cuda.set_device(device)
def work(x): return x

if __name__ == "__main__":
    count = len([torch.cuda.get_device_properties(0)])
    pool = multiprocessing.Pool(1, prepare, (0,))  # fault
    print(pool.apply_async(work, (1,)).get(5))
""",
}

SOUND = {
    "spawn-kept-in-an-attribute": """
import multiprocessing, torch

def work(i): torch.ones(1, device="cuda")

class Engine:
    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        torch.cuda.init()

    def serve(self):
        worker = self.context.Process(target=work, args=(1,))
        worker.start()
        worker.join()
        return worker.exitcode

if __name__ == "__main__":
    raise SystemExit(Engine().serve())
""",
    "a-fork-before-the-wake": """
import multiprocessing, torch

def work(queue):
    queue.get()
    torch.ones(1, device="cuda")

if __name__ == "__main__":
    queue = multiprocessing.Queue()
    worker = multiprocessing.Process(target=work, args=(queue,))
    worker.start()
    torch.cuda.init()
    queue.put(1)
    worker.join()
    raise SystemExit(worker.exitcode)
""",
    "a-child-without-a-device": """
import multiprocessing, torch

def work(i): return i * 2

if __name__ == "__main__":
    torch.cuda.init()
    with multiprocessing.Pool(1) as pool:
        print(pool.map(work, range(3)))
""",
    "the-method-is-set": """
import multiprocessing, torch

def work(i): return float(torch.ones(1, device="cuda") * i)

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    torch.cuda.init()
    with multiprocessing.Pool(1) as pool:
        print(pool.map(work, range(2)))
""",
    "the-method-is-set-in-a-try": """
import torch
import torch.multiprocessing as mp

def work(): torch.ones(1, device="cuda")

def main():
    try:
        mp.set_start_method("spawn", force=True)
    except RuntimeError:
        pass
    torch.cuda.init()
    one = mp.Process(target=work)
    one.start()
    one.join()
    return one.exitcode

if __name__ == "__main__":
    raise SystemExit(main())
""",
    "only-the-main-process": """
import multiprocessing as mp
import torch

def work(): return torch.ones(1)

if mp.current_process().name == "MainProcess":
    torch.cuda.init()

if __name__ == "__main__":
    one = mp.get_context("spawn").Process(target=work)
    one.start()
    one.join()
    raise SystemExit(one.exitcode)
""",
    "threads": """
import concurrent.futures
import multiprocessing
import torch

def work(i): return float(torch.ones(1, device="cuda") * i)

if __name__ == "__main__":
    torch.cuda.init()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        print(list(pool.map(work, range(2))))
""",
    "a-pool-before-the-wake": """
import multiprocessing, torch

def work(i): return float(torch.ones(1, device="cuda") * i)

if __name__ == "__main__":
    pool = multiprocessing.get_context("fork").Pool(1)
    pool.map(abs, range(2))
    torch.cuda.init()
    print(pool.map(work, range(2)))
""",
    "a-pool-kept-from-before-the-wake": """
import multiprocessing, torch

def work(i): torch.cuda.init()

class Engine:
    def __init__(self):
        self.pool = multiprocessing.get_context("fork").Pool(1)
        torch.cuda.init()

    def run(self):
        with self.pool:
            return self.pool.map(work, range(2))

if __name__ == "__main__":
    Engine().run()
""",
    "an-executor-used-before-the-wake": """
from concurrent.futures import ProcessPoolExecutor
import torch

def ping(): return 1

def work(i): torch.cuda.init()

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as executor:
        executor.submit(ping).result()
        torch.cuda.init()
        list(executor.map(work, range(3)))
""",
    "a-default-that-nobody-overrides": """
import multiprocessing, torch

def work(): torch.cuda.synchronize()

def main(warm=False):
    if warm:
        torch.cuda.init()
    one = multiprocessing.get_context("fork").Process(target=work)
    one.start()
    one.join()
    return one.exitcode

if __name__ == "__main__":
    raise SystemExit(main())
""",
    "a-wake-in-another-child": """
import multiprocessing, torch

def work(): torch.cuda.init()

if __name__ == "__main__":
    for _ in range(2):
        one = multiprocessing.get_context("fork").Process(target=work)
        one.start()
        one.join()
        assert not one.exitcode
""",
    "an-executor-that-spawns": """
import multiprocessing, torch
from concurrent.futures import ProcessPoolExecutor

def work(i): return float(torch.ones(1, device="cuda") * i)

if __name__ == "__main__":
    torch.cuda.init()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(pool.submit(work, 1).result())
""",
    "imported-and-not-run": """
### tool.py
import multiprocessing, torch

def work(i): torch.ones(1, device="cuda")

if __name__ == "__main__":
    torch.cuda.init()
### run.py
import multiprocessing
import tool

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(tool.work, range(1))
""",
    "a-loader-without-workers": """
import torch
from torch.utils.data import DataLoader

def collate(batch): return torch.tensor(batch).cuda()

if __name__ == "__main__":
    torch.cuda.init()
    for batch in DataLoader(list(range(4)), 2, num_workers=0, collate_fn=collate):
        print(batch)
""",
    "a-loader-of-the-cpu": """
import torch
from torch.utils.data import DataLoader

def collate(batch): return torch.tensor(batch)

if __name__ == "__main__":
    torch.cuda.init()
    for batch in DataLoader(list(range(4)), 2, num_workers=1, collate_fn=collate):
        print(batch)
""",
    "a-loader-that-spawns": """
import torch
from torch.utils.data import DataLoader

def collate(batch): return torch.tensor(batch).cuda()

if __name__ == "__main__":
    torch.cuda.init()
    for batch in DataLoader(
        list(range(4)), 2, num_workers=1, collate_fn=collate, multiprocessing_context="spawn"
    ):
        print(batch)
""",
    "a-default-factory": """
import multiprocessing, torch
from dataclasses import dataclass, field

@dataclass
class Plan:
    device: int = field(default_factory=torch.cuda.current_device)

def work(): Plan()

if __name__ == "__main__":
    one = multiprocessing.get_context("fork").Process(target=work)
    one.start()
    one.join()
    raise SystemExit(one.exitcode)
""",
    "the-method-that-the-device-needs": """
import multiprocessing as mp
import sys, torch

def work(device): torch.ones(1, device=device)

def main(kind):
    torch.cuda.init()
    if kind == "cuda":
        mp.set_start_method("spawn", force=True)
    elif kind == "cpu":
        mp.set_start_method("fork", force=True)
    one = mp.Process(target=work, args=(kind,))
    one.start()
    one.join()
    return one.exitcode

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1] if len(sys.argv) > 1 else "cuda"))
""",
    "either-or": """
import multiprocessing, sys, torch

def work(): torch.ones(1, device="cuda")

def main(apart):
    if not apart:
        torch.cuda.init()
        return 0
    one = multiprocessing.get_context("fork").Process(target=work)
    one.start()
    one.join()
    return one.exitcode

if __name__ == "__main__":
    raise SystemExit(main("--here" not in sys.argv))
""",
}
