/* A CUDA driver library without devices behind it: it knows whether it was initialised, by which process,
 * and what its devices are called. Everything that would need a real device answers CUDA_ERROR_NOT_SUPPORTED.
 *
 * The types are spelled out because no CUDA header is available where this is compiled.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define API __attribute__((visibility("default")))
#define MOST_DEVICES 64
#define MOST_ATTRIBUTES 96
#define MOST_NAMED 256
#define DEEPEST_STACK 64

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    PRIMARY_CONTEXT_ACTIVE = 708,
    NOT_SUPPORTED = 801,
};

/* Mirrored by coldfork.virtual.native.Description. */
struct description {
    char name[96];
    unsigned long long memory;
    int major, minor;
    int driver_version;
    int count;
    int attributes;
    int ids[MOST_ATTRIBUTES];
    int values[MOST_ATTRIBUTES];
};

struct context {
    int device;
    int primary;
    unsigned flags;
};

static struct description machine;
static int offered = 0;
static int initialised = 0;
static int poisoned = 0;
static int watching_forks = 0;
static int bad_fork = 0;
static int announced = 0;
static int seen[MOST_DEVICES];
static int seen_count = 0;
static struct context primary[MOST_DEVICES];
static int retained[MOST_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct context *stack[DEEPEST_STACK];
static __thread int depth = 0;

/* --- set-up and inspection by coldfork --------------------------------------------------------------------- */

static void after_fork_in_child(void) {
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh; /* another thread may have held it, and that thread does not exist here */
    if (initialised)
        poisoned = 1;
    if (watching_forks)
        bad_fork = 1;
}

API int coldfork_configure(const struct description *description) {
    static int registered = 0;
    if (initialised || description->count > MOST_DEVICES || description->attributes > MOST_ATTRIBUTES)
        return 1;
    machine = *description;
    offered = 1;
    if (!registered) {
        registered = 1;
        return pthread_atfork(NULL, NULL, after_fork_in_child);
    }
    return 0;
}

API void coldfork_offer(int now) { offered = now; }

/* 0 cold, 1 awake, 2 poisoned. */
API int coldfork_state(void) { return poisoned ? 2 : initialised; }

API void coldfork_watch_forks(void) { watching_forks = 1; }

API int coldfork_in_bad_fork(void) { return bad_fork; }

API int coldfork_visible(int *ordinals) {
    memcpy(ordinals, seen, sizeof(int) * (size_t)seen_count);
    return seen_count;
}

/* --- initialisation ---------------------------------------------------------------------------------------- */

static void uuid_of(int ordinal, unsigned char *bytes) {
    static const unsigned char pattern[16] = {0xc0, 0x1d, 0xf0, 0,    0x5e, 0xed, 0x40, 0x00,
                                              0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0};
    memcpy(bytes, pattern, 16);
    bytes[3] = bytes[15] = (unsigned char)ordinal;
}

static void uuid_text(int ordinal, char *text) {
    unsigned char b[16];
    uuid_of(ordinal, b);
    snprintf(text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
             b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static int ordinal_by_uuid(const char *entry, size_t length) {
    int found = -1;
    for (int ordinal = 0; ordinal < machine.count; ordinal++) {
        char text[48];
        uuid_text(ordinal, text);
        if (length > strlen(text) || strncmp(text, entry, length) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = ordinal;
    }
    return found;
}

/* Read like strtoul, so that "1gpu" is 1; -1 if it is not a number, or a negative one. */
static long ordinal_by_number(const char *entry) {
    char *end;
    long number = strtol(entry, &end, 10);
    if (end == entry || number < 0)
        return -1;
    return number;
}

/* Whether an entry occurs twice before the first one that is not a UUID, whether or not such a device exists. */
static int one_uuid_twice(const char *setting) {
    for (const char *one = setting; strncmp(one, "GPU-", 4) == 0;) {
        const char *end = strchrnul(one, ',');
        size_t length = (size_t)(end - one);
        for (const char *other = end; *other == ',' && strncmp(other + 1, "GPU-", 4) == 0;) {
            const char *next = strchrnul(other + 1, ',');
            if ((size_t)(next - other - 1) == length && strncmp(one, other + 1, length) == 0)
                return 1;
            other = next;
        }
        if (!*end)
            return 0;
        one = end + 1;
    }
    return 0;
}

/* The devices that CUDA_VISIBLE_DEVICES names, up to the first invalid entry; none if one is named twice.
 * The first entry decides whether the others are numbers or UUIDs. */
static void see_devices(void) {
    const char *setting = getenv("CUDA_VISIBLE_DEVICES");
    long named[MOST_NAMED];
    int count = 0;
    seen_count = 0;
    if (!setting) {
        while (seen_count < machine.count)
            seen[seen_count] = seen_count, seen_count++;
        return;
    }
    int by_uuid = strncmp(setting, "GPU-", 4) == 0;
    if (by_uuid && one_uuid_twice(setting))
        return;
    for (const char *entry = setting; count < MOST_NAMED;) {
        const char *comma = strchrnul(entry, ',');
        size_t length = (size_t)(comma - entry);
        long ordinal = -1;
        if (!by_uuid)
            ordinal = ordinal_by_number(entry);
        else if (length >= 4 && strncmp(entry, "GPU-", 4) == 0)
            ordinal = ordinal_by_uuid(entry, length);
        if (ordinal < 0)
            break;
        for (int i = 0; i < count; i++)
            if (named[i] == ordinal)
                return;
        named[count++] = ordinal;
        if (!*comma)
            break;
        entry = comma + 1;
    }
    while (seen_count < count && named[seen_count] < machine.count)
        seen[seen_count] = (int)named[seen_count], seen_count++;
}

/* Tools ask to be called when the driver is about to be initialised; see the samples of NVIDIA's CUPTI. */
static void announce(void) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    int (*called)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (called)
        called();
}

API int cuInit(unsigned flags) {
    if (poisoned)
        return NOT_INITIALIZED;
    if (flags)
        return INVALID_VALUE;
    if (initialised)
        return SUCCESS;
    if (!__atomic_exchange_n(&announced, 1, __ATOMIC_SEQ_CST))
        announce();
    pthread_mutex_lock(&lock);
    if (!initialised) {
        if (offered)
            see_devices();
        if (offered && seen_count)
            initialised = 1;
    }
    pthread_mutex_unlock(&lock);
    return initialised ? SUCCESS : NO_DEVICE;
}

#define READY()                                                                                                        \
    do {                                                                                                               \
        if (!initialised || poisoned)                                                                                  \
            return NOT_INITIALIZED;                                                                                    \
    } while (0)
#define DEVICE(device)                                                                                                 \
    do {                                                                                                               \
        READY();                                                                                                       \
        if ((device) < 0 || (device) >= seen_count)                                                                    \
            return INVALID_DEVICE;                                                                                     \
    } while (0)
#define GIVEN(pointer)                                                                                                 \
    do {                                                                                                               \
        if (!(pointer))                                                                                                \
            return INVALID_VALUE;                                                                                      \
    } while (0)

/* --- versions and errors: these answer before cuInit, too -------------------------------------------------- */

API int cuDriverGetVersion(int *version) {
    GIVEN(version);
    *version = machine.driver_version;
    return SUCCESS;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int describe(int code, const char **text, int by_name) {
    GIVEN(text);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *text = by_name ? errors[i].name : errors[i].text;
            return SUCCESS;
        }
    *text = NULL;
    return INVALID_VALUE;
}

API int cuGetErrorString(int code, const char **text) { return describe(code, text, 0); }
API int cuGetErrorName(int code, const char **text) { return describe(code, text, 1); }

/* --- devices ----------------------------------------------------------------------------------------------- */

API int cuDeviceGetCount(int *count) {
    READY();
    GIVEN(count);
    *count = seen_count;
    return SUCCESS;
}

API int cuDeviceGet(int *device, int ordinal) {
    DEVICE(ordinal);
    GIVEN(device);
    *device = ordinal;
    return SUCCESS;
}

API int cuDeviceGetName(char *name, int length, int device) {
    DEVICE(device);
    GIVEN(name);
    if (length <= 0)
        return INVALID_VALUE;
    snprintf(name, (size_t)length, "%s", machine.name);
    return SUCCESS;
}

API int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    DEVICE(device);
    GIVEN(uuid);
    uuid_of(seen[device], uuid);
    return SUCCESS;
}
API int cuDeviceGetUuid(unsigned char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    DEVICE(device);
    GIVEN(bytes);
    *bytes = (size_t)machine.memory;
    return SUCCESS;
}

API int cuDeviceComputeCapability(int *major, int *minor, int device) {
    DEVICE(device);
    GIVEN(major);
    GIVEN(minor);
    *major = machine.major;
    *minor = machine.minor;
    return SUCCESS;
}

enum { ATTRIBUTE_PCI_BUS_ID = 33, LAST_ATTRIBUTE = 160 };

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    DEVICE(device);
    GIVEN(value);
    if (attribute <= 0 || attribute > LAST_ATTRIBUTE)
        return INVALID_VALUE;
    *value = 0;
    if (attribute == ATTRIBUTE_PCI_BUS_ID)
        *value = 0x10 + seen[device];
    for (int i = 0; i < machine.attributes; i++)
        if (machine.ids[i] == attribute)
            *value = machine.values[i];
    return SUCCESS;
}

API int cuDeviceGetPCIBusId(char *text, int length, int device) {
    DEVICE(device);
    GIVEN(text);
    if (length < 13)
        return INVALID_VALUE;
    snprintf(text, (size_t)length, "0000:%02x:00.0", 0x10 + seen[device]);
    return SUCCESS;
}

API int cuDeviceGetByPCIBusId(int *device, const char *text) {
    READY();
    GIVEN(device);
    GIVEN(text);
    for (int i = 0; i < seen_count; i++) {
        char known[16];
        cuDeviceGetPCIBusId(known, sizeof known, i);
        if (strcasecmp(known, text) == 0) {
            *device = i;
            return SUCCESS;
        }
    }
    return INVALID_DEVICE;
}

API int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    DEVICE(device);
    DEVICE(peer);
    GIVEN(can);
    *can = device != peer;
    return SUCCESS;
}

/* --- contexts ---------------------------------------------------------------------------------------------- */

static struct context *current(void) { return depth ? stack[depth - 1] : NULL; }

API int cuDevicePrimaryCtxRetain(void **context, int device) {
    DEVICE(device);
    GIVEN(context);
    pthread_mutex_lock(&lock);
    primary[device].device = device;
    primary[device].primary = 1;
    retained[device]++;
    pthread_mutex_unlock(&lock);
    *context = &primary[device];
    return SUCCESS;
}

API int cuDevicePrimaryCtxRelease_v2(int device) {
    DEVICE(device);
    pthread_mutex_lock(&lock);
    int held = retained[device];
    if (held)
        retained[device]--;
    pthread_mutex_unlock(&lock);
    return held ? SUCCESS : INVALID_CONTEXT;
}
API int cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }

API int cuDevicePrimaryCtxReset_v2(int device) {
    DEVICE(device);
    pthread_mutex_lock(&lock);
    retained[device] = 0;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
API int cuDevicePrimaryCtxReset(int device) { return cuDevicePrimaryCtxReset_v2(device); }

API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    DEVICE(device);
    GIVEN(flags);
    GIVEN(active);
    *flags = primary[device].flags;
    *active = retained[device] > 0;
    return SUCCESS;
}

API int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    DEVICE(device);
    primary[device].flags = flags;
    return SUCCESS;
}
API int cuDevicePrimaryCtxSetFlags(int device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

API int cuCtxGetCurrent(void **context) {
    READY();
    GIVEN(context);
    *context = current();
    return SUCCESS;
}

API int cuCtxSetCurrent(void *context) {
    READY();
    if (depth)
        depth--;
    if (context)
        stack[depth++] = context;
    return SUCCESS;
}

API int cuCtxPushCurrent_v2(void *context) {
    READY();
    if (!context || depth == DEEPEST_STACK)
        return INVALID_CONTEXT;
    stack[depth++] = context;
    return SUCCESS;
}
API int cuCtxPushCurrent(void *context) { return cuCtxPushCurrent_v2(context); }

API int cuCtxPopCurrent_v2(void **context) {
    READY();
    if (!depth)
        return INVALID_CONTEXT;
    depth--;
    if (context)
        *context = stack[depth];
    return SUCCESS;
}
API int cuCtxPopCurrent(void **context) { return cuCtxPopCurrent_v2(context); }

API int cuCtxCreate_v2(void **context, unsigned flags, int device) {
    DEVICE(device);
    GIVEN(context);
    if (depth == DEEPEST_STACK)
        return INVALID_CONTEXT;
    struct context *made = calloc(1, sizeof *made);
    if (!made)
        return 2;
    made->device = device;
    made->flags = flags;
    stack[depth++] = *context = made;
    return SUCCESS;
}
API int cuCtxCreate(void **context, unsigned flags, int device) { return cuCtxCreate_v2(context, flags, device); }
API int cuCtxCreate_v3(void **context, void *affinity, int number, unsigned flags, int device) {
    (void)affinity, (void)number;
    return cuCtxCreate_v2(context, flags, device);
}
API int cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device) {
    (void)parameters;
    return cuCtxCreate_v2(context, flags, device);
}

API int cuCtxDestroy_v2(void *context) {
    READY();
    struct context *given = context;
    if (!given || given->primary)
        return INVALID_CONTEXT;
    if (current() == given)
        depth--;
    for (int i = 0; i < depth; i++)
        if (stack[i] == given)
            return SUCCESS; /* still below another context of this thread: leak it, it is 12 bytes */
    free(given);
    return SUCCESS;
}
API int cuCtxDestroy(void *context) { return cuCtxDestroy_v2(context); }

API int cuCtxGetDevice(int *device) {
    READY();
    GIVEN(device);
    if (!current())
        return INVALID_CONTEXT;
    *device = current()->device;
    return SUCCESS;
}

API int cuCtxGetFlags(unsigned *flags) {
    READY();
    GIVEN(flags);
    if (!current())
        return INVALID_CONTEXT;
    *flags = current()->flags;
    return SUCCESS;
}

API int cuCtxGetApiVersion(void *context, unsigned *version) {
    READY();
    GIVEN(version);
    if (!context && !current())
        return INVALID_CONTEXT;
    *version = 3020;
    return SUCCESS;
}

API int cuCtxSynchronize(void) {
    READY();
    return current() ? SUCCESS : INVALID_CONTEXT;
}

API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    READY();
    if (!current())
        return INVALID_CONTEXT;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return SUCCESS;
}

API int cuMemGetInfo_v2(size_t *unused, size_t *total) {
    READY();
    GIVEN(unused);
    GIVEN(total);
    if (!current())
        return INVALID_CONTEXT;
    *unused = *total = (size_t)machine.memory;
    return SUCCESS;
}
API int cuMemGetInfo(size_t *unused, size_t *total) { return cuMemGetInfo_v2(unused, total); }

/* --- finding entry points ---------------------------------------------------------------------------------- */

static int not_supported(void) {
    READY();
    return NOT_SUPPORTED;
}

/* Functions that need a real device. Programs linked against the driver could not even be loaded without these
 * names. */
#define UNSIMULATED(X) \
    X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleLoadFatBinary) X(cuModuleUnload)               \
    X(cuModuleGetFunction) X(cuModuleGetGlobal_v2) X(cuModuleGetLoadingMode) X(cuLibraryLoadData) X(cuLibraryLoadFromFile)\
    X(cuLibraryUnload) X(cuLibraryGetKernel) X(cuLibraryGetModule) X(cuKernelGetFunction) X(cuKernelGetAttribute)      \
    X(cuKernelSetAttribute) X(cuLinkCreate_v2) X(cuLinkAddData_v2) X(cuLinkAddFile_v2) X(cuLinkComplete) X(cuLinkDestroy)\
    X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncSetCacheConfig) X(cuFuncSetSharedMemConfig) X(cuFuncGetModule) \
    X(cuFuncLoad) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel) X(cuLaunchHostFunc)               \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)             \
    X(cuOccupancyMaxPotentialBlockSize) X(cuOccupancyMaxActiveClusters) X(cuMemAlloc_v2) X(cuMemAllocPitch_v2)         \
    X(cuMemAllocManaged) X(cuMemAllocHost_v2) X(cuMemHostAlloc) X(cuMemHostRegister_v2) X(cuMemHostUnregister)         \
    X(cuMemHostGetDevicePointer_v2) X(cuMemFree_v2) X(cuMemFreeHost) X(cuMemAllocAsync) X(cuMemFreeAsync)              \
    X(cuMemAllocFromPoolAsync) X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolSetAttribute) X(cuMemPoolGetAttribute)\
    X(cuDeviceGetDefaultMemPool) X(cuDeviceGetMemPool) X(cuDeviceSetMemPool) X(cuMemGetAddressRange_v2) X(cuMemCreate) \
    X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuMemAddressReserve) X(cuMemAddressFree)             \
    X(cuMemGetAllocationGranularity) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle)                 \
    X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle_v2) X(cuIpcCloseMemHandle) X(cuMemcpy) X(cuMemcpyAsync) X(cuMemcpyHtoD_v2)\
    X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoH_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyDtoDAsync_v2)      \
    X(cuMemcpyPeer) X(cuMemcpyPeerAsync) X(cuMemsetD8_v2) X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32_v2)     \
    X(cuMemsetD32Async) X(cuPointerGetAttribute) X(cuPointerGetAttributes) X(cuPointerSetAttribute) X(cuStreamCreate)  \
    X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent)   \
    X(cuStreamGetCtx) X(cuStreamGetFlags) X(cuStreamGetPriority) X(cuStreamAddCallback) X(cuStreamBeginCapture_v2)     \
    X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuStreamGetCaptureInfo_v2) X(cuEventCreate) X(cuEventDestroy_v2)    \
    X(cuEventRecord) X(cuEventRecordWithFlags) X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime)             \
    X(cuIpcGetEventHandle) X(cuIpcOpenEventHandle) X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphLaunch)                 \
    X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) X(cuCtxEnablePeerAccess) X(cuCtxDisablePeerAccess)            \
    X(cuCtxGetLimit) X(cuCtxSetLimit) X(cuCtxGetCacheConfig) X(cuCtxSetCacheConfig) X(cuCtxGetSharedMemConfig)         \
    X(cuCtxSetSharedMemConfig) X(cuTensorMapEncodeTiled) X(cuTensorMapEncodeIm2col) X(cuProfilerStart) X(cuProfilerStop)\
    X(cuDeviceGetP2PAttribute) X(cuDeviceGetLuid) X(cuDeviceGetTexture1DLinearMaxWidth) X(cuDeviceGetNvSciSyncAttributes)\
    X(cuGreenCtxCreate) X(cuDeviceGetDevResource)
#define NOT_HERE(name)                                                                                                 \
    API int name(void) { return not_supported(); }
UNSIMULATED(NOT_HERE)

/* NVIDIA's runtime library asks for undocumented tables; without them it reports "not supported". */
API int cuGetExportTable(const void **table, const void *id) {
    (void)id;
    if (table)
        *table = NULL;
    return NOT_SUPPORTED;
}

/* Names with a different signature from some CUDA version on. The others mean their newest form. */
static const struct {
    const char *name;
    int since;
    const char *symbol;
} versioned[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 0, "cuCtxCreate_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
};

static const char *symbol_of(const char *name, int version) {
    for (size_t i = 0; i < sizeof versioned / sizeof *versioned; i++)
        if (strcmp(versioned[i].name, name) == 0 && version >= versioned[i].since)
            return versioned[i].symbol;
    return NULL;
}

/* This library by its own path: the plain search would find another driver where one is installed. */
static void *this_library(void) {
    static void *self = NULL;
    Dl_info where;
    if (!self && dladdr((void *)cuInit, &where))
        self = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return self;
}

API int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *status) {
    (void)flags;
    GIVEN(name);
    GIVEN(function);
    char newest[160];
    void *self = this_library();
    const char *chosen = symbol_of(name, version);
    void *found = NULL;
    if (self && chosen)
        found = dlsym(self, chosen);
    if (self && !found) {
        snprintf(newest, sizeof newest, "%s_v2", name);
        found = dlsym(self, newest);
    }
    if (self && !found && strncmp(name, "cu", 2) == 0)
        found = dlsym(self, name);
    if (!found && strncmp(name, "cu", 2) == 0)
        found = (void *)not_supported;
    *function = found;
    if (status)
        *status = found ? 0 : 1;
    return found ? SUCCESS : 500;
}

API int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
