/* NVML without devices behind it: counts, names and figures, and "not supported" for the rest.
 *
 * As with the real library, nothing here initialises the driver. CUDA_VISIBLE_DEVICES hides nothing from it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    LIBRARY_NOT_FOUND = 12,
};

/* Mirrored by coldfork.virtual.native.Board. */
struct board {
    char name[96];
    char driver[80];
    unsigned long long memory;
    int major, minor;
    int cuda_version;
    int count;
    int answers; /* 0: there is a library, but it cannot find the driver's part of it */
};

static struct board board;
static int users = 0;

API int coldfork_configure(const struct board *given) {
    board = *given;
    return 0;
}

#define READY()                                                                                                        \
    do {                                                                                                               \
        if (users <= 0)                                                                                                \
            return UNINITIALIZED;                                                                                      \
    } while (0)
#define DEVICE(handle)                                                                                                 \
    do {                                                                                                               \
        READY();                                                                                                       \
        if (index_of(handle) < 0)                                                                                      \
            return INVALID_ARGUMENT;                                                                                   \
    } while (0)
#define GIVEN(pointer)                                                                                                 \
    do {                                                                                                               \
        if (!(pointer))                                                                                                \
            return INVALID_ARGUMENT;                                                                                   \
    } while (0)

/* A handle is nothing but a number that no program takes for a pointer it may read. */
static void *handle_of(unsigned index) { return (void *)(uintptr_t)(0x1000 + index); }

static int index_of(const void *handle) {
    uintptr_t number = (uintptr_t)handle;
    return number >= 0x1000 && number < 0x1000 + (uintptr_t)board.count ? (int)(number - 0x1000) : -1;
}

static int write_text(char *into, unsigned length, const char *text) {
    GIVEN(into);
    if (strlen(text) + 1 > length)
        return INSUFFICIENT_SIZE;
    strcpy(into, text);
    return SUCCESS;
}

API int nvmlInit_v2(void) {
    if (!board.answers)
        return LIBRARY_NOT_FOUND;
    users++;
    return SUCCESS;
}
API int nvmlInit(void) { return nvmlInit_v2(); }
API int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    return nvmlInit_v2();
}

API int nvmlShutdown(void) {
    READY();
    users--;
    return SUCCESS;
}

API const char *nvmlErrorString(int code) {
    switch (code) {
    case SUCCESS:
        return "Success";
    case UNINITIALIZED:
        return "Uninitialized";
    case INVALID_ARGUMENT:
        return "Invalid Argument";
    case NOT_SUPPORTED:
        return "Not Supported";
    case NOT_FOUND:
        return "Not Found";
    case INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case LIBRARY_NOT_FOUND:
        return "NVML Shared Library Not Found";
    default:
        return "Unknown Error";
    }
}

API int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    READY();
    return write_text(text, length, board.driver);
}

API int nvmlSystemGetNVMLVersion(char *text, unsigned length) {
    char version[96];
    READY();
    snprintf(version, sizeof version, "%d.%s", board.cuda_version / 1000, board.driver);
    return write_text(text, length, version);
}

API int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    GIVEN(version);
    *version = board.cuda_version;
    return SUCCESS;
}
API int nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

API int nvmlDeviceGetCount_v2(unsigned *count) {
    READY();
    GIVEN(count);
    *count = (unsigned)board.count;
    return SUCCESS;
}
API int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    READY();
    GIVEN(handle);
    if (index >= (unsigned)board.count)
        return INVALID_ARGUMENT;
    *handle = handle_of(index);
    return SUCCESS;
}
API int nvmlDeviceGetHandleByIndex(unsigned index, void **handle) {
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

API int nvmlDeviceGetIndex(void *handle, unsigned *index) {
    DEVICE(handle);
    GIVEN(index);
    *index = (unsigned)index_of(handle);
    return SUCCESS;
}

API int nvmlDeviceGetMinorNumber(void *handle, unsigned *number) { return nvmlDeviceGetIndex(handle, number); }

API int nvmlDeviceGetName(void *handle, char *name, unsigned length) {
    DEVICE(handle);
    return write_text(name, length, board.name);
}

static void uuid_text(unsigned char index, char *text, size_t length) {
    snprintf(text, length, "GPU-c01df0%02x-5eed-4000-8000-0000000000%02x", index, index);
}

API int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length) {
    char text[48];
    DEVICE(handle);
    uuid_text((unsigned char)index_of(handle), text, sizeof text);
    return write_text(uuid, length, text);
}

API int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    READY();
    GIVEN(uuid);
    GIVEN(handle);
    for (int index = 0; index < board.count; index++) {
        char text[48];
        uuid_text((unsigned char)index, text, sizeof text);
        if (strcmp(text, uuid) == 0) {
            *handle = handle_of((unsigned)index);
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

API int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    DEVICE(handle);
    GIVEN(major);
    GIVEN(minor);
    *major = board.major;
    *minor = board.minor;
    return SUCCESS;
}

struct memory {
    unsigned long long total, unused, used;
};

API int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory) {
    DEVICE(handle);
    GIVEN(memory);
    memory->total = memory->unused = board.memory;
    memory->used = 0;
    return SUCCESS;
}

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, unused, used;
};

API int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *memory) {
    DEVICE(handle);
    GIVEN(memory);
    memory->total = memory->unused = board.memory;
    memory->reserved = memory->used = 0;
    return SUCCESS;
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char text[32];
};

API int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *pci) {
    DEVICE(handle);
    GIVEN(pci);
    memset(pci, 0, sizeof *pci);
    unsigned char bus = (unsigned char)(0x10 + index_of(handle));
    pci->bus = bus;
    snprintf(pci->legacy, sizeof pci->legacy, "0000:%02X:00.0", bus);
    snprintf(pci->text, sizeof pci->text, "00000000:%02X:00.0", bus);
    return SUCCESS;
}

API int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, void *processes) {
    (void)processes;
    DEVICE(handle);
    GIVEN(count);
    *count = 0;
    return SUCCESS;
}

API int nvmlDeviceGetP2PStatus(void *one, void *other, int index, int *status) {
    (void)index;
    DEVICE(one);
    DEVICE(other);
    GIVEN(status);
    *status = 0;
    return SUCCESS;
}

API int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *pending) {
    DEVICE(handle);
    GIVEN(now);
    GIVEN(pending);
    *now = *pending = 0;
    return SUCCESS;
}

#define UNSIMULATED(name)                                                                                              \
    API int name(void *handle) {                                                                                       \
        DEVICE(handle);                                                                                                \
        return NOT_SUPPORTED;                                                                                          \
    }
UNSIMULATED(nvmlDeviceGetUtilizationRates)
UNSIMULATED(nvmlDeviceGetTemperature)
UNSIMULATED(nvmlDeviceGetPowerUsage)
UNSIMULATED(nvmlDeviceGetClockInfo)
UNSIMULATED(nvmlDeviceGetFanSpeed)
UNSIMULATED(nvmlDeviceGetNvLinkState)
UNSIMULATED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
UNSIMULATED(nvmlDeviceGetTopologyCommonAncestor)
UNSIMULATED(nvmlDeviceGetCpuAffinity)
