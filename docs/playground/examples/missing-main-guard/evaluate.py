"""Spawned workers import this file again, and with it the line that starts them."""

import multiprocessing

multiprocessing.set_start_method("spawn")


def score(number):
    return number * number


pool = multiprocessing.Pool(4)
print(pool.map(score, range(8)))
