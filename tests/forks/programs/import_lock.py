# guilty, warned
# Another thread is importing a module, whose lock nobody opens in the child that imports it too.
import os
import pathlib
import signal
import sys
import tempfile
import threading

folder = tempfile.mkdtemp()
pathlib.Path(folder, "slow.py").write_text("import begun\nbegun.now.set()\nbegun.over.wait()\n")
pathlib.Path(folder, "begun.py").write_text(
    "import threading\nnow, over = threading.Event(), threading.Event()\n"
)
sys.path.insert(0, folder)
begun = __import__("begun")

thread = threading.Thread(target=lambda: __import__("slow"))
thread.start()
begun.now.wait()
child = os.fork()
if not child:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)
    __import__("slow")
    os._exit(0)
status = os.waitpid(child, 0)[1]
begun.over.set()
raise SystemExit(1 if status else 0)
