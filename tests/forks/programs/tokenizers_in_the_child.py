# guilty, warned
# The variable keeps tokenizers at encoding in parallel, and the child waits; an alarm ends it.
import os
import signal

import tokenizers

os.environ["TOKENIZERS_PARALLELISM"] = "true"
tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"word": 0}, unk_token="word"))
tokenizer.encode_batch(["word word"] * 2000)
child = os.fork()
if not child:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(5)
    tokenizer.encode_batch(["word word"] * 2000)
    os._exit(0)
raise SystemExit(1 if os.waitpid(child, 0)[1] else 0)
