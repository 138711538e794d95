/* Tell where a process calls cuInit, on any thread, without ever touching the interpreter.

   CUDA loads the library that CUDA_INJECTION64_PATH names when it is initialised and calls InitializeInjection on the
   initialising thread, perhaps with locks of its own held. So this only raises a signal on this very thread: the
   handler that `faulthandler` installed writes down the thread's Python stack, without Python's lock.

   The state below is set by coldfork_arm in the process itself. A program started by it inherits the variable but not
   the state, and then nothing happens. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static volatile pid_t armed;
static int signal_number;
static int descriptor;
static dev_t device;
static ino_t inode;
static void (*handler)(int);
static char next_library[4096];

/* Remember the signal to raise and the file to write to; the next library is called too, as without us. */
PUBLIC int coldfork_arm(int number, int file, const char *next)
{
    struct sigaction action;
    struct stat status;
    armed = 0;
    if (sigaction(number, NULL, &action) || fstat(file, &status))
        return 0;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        return 0;
    signal_number = number;
    descriptor = file;
    device = status.st_dev;
    inode = status.st_ino;
    handler = action.sa_handler;
    next_library[0] = 0;
    if (next && strlen(next) < sizeof next_library)
        strcpy(next_library, next);
    armed = getpid();
    return 1;
}

PUBLIC void coldfork_disarm(void)
{
    armed = 0;
}

/* The signal's default action kills, and another program's handler must not be called. */
static int handler_is_there(void)
{
    struct sigaction action;
    return !sigaction(signal_number, NULL, &action) && action.sa_handler == handler;
}

/* A signal raised while blocked would arrive later, at some other place. */
static int signal_is_blocked(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) || sigismember(&blocked, signal_number);
}

/* A program may have closed the file and opened its own under the number. */
static int file_is_ours(void)
{
    struct stat status;
    return !fstat(descriptor, &status) && status.st_dev == device && status.st_ino == inode;
}

static void tell(void)
{
    if (!handler_is_there() || !file_is_ours())
        return;
    dprintf(descriptor, "thread %ld\n", (long)syscall(SYS_gettid));
    if (!signal_is_blocked())
        raise(signal_number);
    dprintf(descriptor, "end\n");
}

PUBLIC int InitializeInjection(void)
{
    int (*next)(void) = NULL;
    void *library;
    /* A forked child arms anew, if it is watched: the file is its parent's. */
    if (armed == getpid())
        tell();
    if (next_library[0] && (library = dlopen(next_library, RTLD_LAZY)))
        next = (int (*)(void))dlsym(library, "InitializeInjection");
    /* If a watched process started this one, the variable names this very library. */
    return next && next != InitializeInjection ? next() : 1;
}
