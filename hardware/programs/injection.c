/* What holds while the driver calls an injected library: loaded through CUDA_INJECTION64_PATH.
 *
 * The answers go to the file that COLDFORK_VALIDATE_INJECTION names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int answered = 0;
static volatile int answer = -1;

static int ask(void) {
    int count = 0;
    int (*function)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "cuDeviceGetCount");
    if (!function) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (library) function = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
    }
    return function ? function(&count) : -2;
}

static void *from_another_thread(void *unused) {
    (void)unused;
    answer = ask();
    answered = 1;
    return NULL;
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
    const char *place = getenv("COLDFORK_VALIDATE_INJECTION");
    pthread_t thread;
    struct timespec pause = {0, 10 * 1000 * 1000};
    int waited = 0;
    int called_first = pthread_create(&thread, NULL, from_another_thread, NULL);
    for (; !answered && waited < 200; waited++) nanosleep(&pause, NULL);
    FILE *file = place ? fopen(place, "a") : NULL;
    if (file) {
        fprintf(file,
                "{\"pid\": %d, \"thread started\": %s, \"another thread was answered\": %s, "
                "\"its code\": %d, \"waited ms\": %d}\n",
                (int)getpid(), called_first == 0 ? "true" : "false", answered ? "true" : "false", answer,
                waited * 10);
        fclose(file);
    }
    return 1;
}
