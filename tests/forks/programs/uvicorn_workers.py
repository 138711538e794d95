# innocent, silent
# uvicorn spawns its workers, which use the device: theirs is awake in each of them, and the parent's stays
# its own.
import http.client
import os
import signal
import socket
import threading
import time

import torch
import uvicorn

MAIN = __name__ == "__main__"


async def app(scope, receive, send):
    assert scope["type"] == "http"
    body = str(torch.cuda.current_device()).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def ask():
    """One request, as soon as somebody answers; then the server is told to end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
    while True:
        try:
            connection.request("GET", "/")
            break
        except ConnectionRefusedError:
            connection.close()
            time.sleep(0.1)
    answer = connection.getresponse()
    heard.append((answer.status, answer.read()))
    os.kill(os.getpid(), signal.SIGINT)


if MAIN:
    torch.cuda.init()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    heard = []
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        uvicorn.run("__mp_main__:app", port=port, workers=2, lifespan="off", log_level="warning")
    except KeyboardInterrupt:
        pass
    asking.join()
    assert heard == [(200, b"0")], heard
