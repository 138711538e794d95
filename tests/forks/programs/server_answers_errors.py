# guilty, noted
# An installed server forks a worker after the application has woken the device; each request fails, the server
# answers with an error and goes on, and its worker ends with 0.
import os
import sys

import torch

SERVER = """
import os, socket, traceback

def serve(application, requests):
    here, there = socket.socketpair()
    worker = os.fork()
    if worker == 0:
        here.close()
        while request := there.recv(100):
            try:
                answer = b"200 " + application(request)
            except Exception as error:
                traceback.print_exc()
                answer = b"500 " + str(error).encode()[:60]
            there.send(answer)
        os._exit(0)
    there.close()
    for request in requests:
        here.send(request)
        yield here.recv(100)
    here.close()
    os.waitpid(worker, 0)
"""


def application(request):
    return str(torch.ones(len(request), device="cuda").shape).encode()


os.makedirs("site-packages")
with open("site-packages/prefork_server.py", "w") as module:
    module.write(SERVER)
sys.path.append(os.path.abspath("site-packages"))
import prefork_server  # noqa: E402

torch.cuda.init()
answers = list(prefork_server.serve(application, [b"one", b"two"]))
raise SystemExit(not all(answer.startswith(b"200") for answer in answers))
