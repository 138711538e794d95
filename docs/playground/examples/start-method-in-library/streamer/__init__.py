"""A library."""

import multiprocessing


class Streamer:
    def __init__(self):
        multiprocessing.set_start_method("fork", force=True)
        self.queue = multiprocessing.Queue()

    def start(self, target):
        worker = multiprocessing.Process(target=target, args=(self.queue,))
        worker.start()
        return worker
