/* NVML without devices behind it: counts, names and figures, and "not supported" for the rest.
 *
 * As with the real library, nothing here initialises the driver. CUDA_VISIBLE_DEVICES hides nothing from it.
 *
 * If coldfork did not configure it in this process, because the loader found the library, it reads its devices from
 * the file that COLDFORK_VIRTUAL_NVML names; coldfork.virtual.management writes that. Each line is one thing:
 *
 *     library MAJOR.MINOR CUDA_VERSION DRIVER   the capability of its devices first
 *     device UUID TOTAL USED MIG NAME...        MIG is 0 or 1
 *     instance UUID TOTAL USED GPU COMPUTE      of the device above: an instance that MIG made of it
 *     process PID BYTES                         on the device above
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define MOST_DEVICES 64
#define MOST_INSTANCES 8
#define MOST_PROCESSES 32

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
    int answers; /* 0: the library exists, but cannot find the driver's part */
};

struct instance {
    char uuid[96];
    unsigned long long memory, used;
    unsigned gpu, compute;
};

struct device {
    char uuid[96];
    char name[96];
    unsigned long long memory, used;
    int divided;
    int instances;
    struct instance instance[MOST_INSTANCES];
    int processes;
    unsigned pid[MOST_PROCESSES];
    unsigned long long held[MOST_PROCESSES];
};

static struct board board;
static struct device devices[MOST_DEVICES];
static int configured = 0;
static int users = 0;

API int coldfork_configure(const struct board *given) {
    board = *given;
    configured = 1;
    if (board.count > MOST_DEVICES)
        board.count = MOST_DEVICES;
    memset(devices, 0, sizeof devices);
    for (int index = 0; index < board.count; index++) {
        struct device *device = &devices[index];
        snprintf(device->uuid, sizeof device->uuid, "GPU-c01df0%02x-5eed-4000-8000-0000000000%02x", index, index);
        strcpy(device->name, board.name);
        device->memory = board.memory;
    }
    return 0;
}

static void read_line(const char *line) {
    struct device *device = board.count ? &devices[board.count - 1] : NULL;
    if (strncmp(line, "library ", 8) == 0) {
        board.answers =
            sscanf(line, "library %d.%d %d %79s", &board.major, &board.minor, &board.cuda_version, board.driver) == 4;
    } else if (strncmp(line, "device ", 7) == 0 && board.count < MOST_DEVICES) {
        device = &devices[board.count];
        board.count += sscanf(line, "device %95s %llu %llu %d %95[^\n]", device->uuid, &device->memory, &device->used,
                              &device->divided, device->name) == 5;
    } else if (strncmp(line, "instance ", 9) == 0 && device && device->instances < MOST_INSTANCES) {
        struct instance *instance = &device->instance[device->instances];
        device->instances += sscanf(line, "instance %95s %llu %llu %u %u", instance->uuid, &instance->memory,
                                    &instance->used, &instance->gpu, &instance->compute) == 5;
    } else if (strncmp(line, "process ", 8) == 0 && device && device->processes < MOST_PROCESSES) {
        device->processes += sscanf(line, "process %u %llu", &device->pid[device->processes],
                                    &device->held[device->processes]) == 2;
    }
}

/* Without a configuration, read the file, again at each first initialisation. */
static void read_file(void) {
    const char *path = getenv("COLDFORK_VIRTUAL_NVML");
    char line[512];
    if (configured || users)
        return;
    memset(&board, 0, sizeof board);
    memset(devices, 0, sizeof devices);
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file)
        return;
    while (fgets(line, sizeof line, file))
        read_line(line);
    fclose(file);
}

#define READY()                                                                                                        \
    do {                                                                                                               \
        if (users <= 0)                                                                                                \
            return UNINITIALIZED;                                                                                      \
    } while (0)
#define DEVICE(handle)                                                                                                 \
    do {                                                                                                               \
        READY();                                                                                                       \
        if (!device_of(handle))                                                                                        \
            return INVALID_ARGUMENT;                                                                                   \
    } while (0)
#define GIVEN(pointer)                                                                                                 \
    do {                                                                                                               \
        if (!(pointer))                                                                                                \
            return INVALID_ARGUMENT;                                                                                   \
    } while (0)

/* A handle is just a number that no program takes for a readable pointer. */
static void *handle_of(unsigned index) { return (void *)(uintptr_t)(0x1000 + index); }

static int index_of(const void *handle) {
    uintptr_t number = (uintptr_t)handle;
    return number >= 0x1000 && number < 0x1000 + (uintptr_t)board.count ? (int)(number - 0x1000) : -1;
}

static struct device *device_of(const void *handle) {
    int index = index_of(handle);
    return index < 0 ? NULL : &devices[index];
}

/* Instances have handles too, in another range. */
static void *instance_handle(int index, unsigned number) {
    return (void *)(uintptr_t)(0x2000 + (unsigned)index * MOST_INSTANCES + number);
}

static struct instance *instance_of(const void *handle) {
    uintptr_t number = (uintptr_t)handle - 0x2000;
    if ((uintptr_t)handle < 0x2000 || number >= (uintptr_t)(board.count * MOST_INSTANCES))
        return NULL;
    struct device *device = &devices[number / MOST_INSTANCES];
    number %= MOST_INSTANCES;
    return number < (uintptr_t)device->instances ? &device->instance[number] : NULL;
}

static int write_text(char *into, unsigned length, const char *text) {
    GIVEN(into);
    if (strlen(text) + 1 > length)
        return INSUFFICIENT_SIZE;
    strcpy(into, text);
    return SUCCESS;
}

API int nvmlInit_v2(void) {
    read_file();
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
    return write_text(name, length, device_of(handle)->name);
}

API int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length) {
    READY();
    struct instance *instance = instance_of(handle);
    if (instance)
        return write_text(uuid, length, instance->uuid);
    DEVICE(handle);
    return write_text(uuid, length, device_of(handle)->uuid);
}

API int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    READY();
    GIVEN(uuid);
    GIVEN(handle);
    for (int index = 0; index < board.count; index++) {
        if (strcmp(devices[index].uuid, uuid) == 0) {
            *handle = handle_of((unsigned)index);
            return SUCCESS;
        }
        for (unsigned number = 0; number < (unsigned)devices[index].instances; number++) {
            if (strcmp(devices[index].instance[number].uuid, uuid) == 0) {
                *handle = instance_handle(index, number);
                return SUCCESS;
            }
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

/* The memory of a device or an instance, and how much of it is used. */
static int figures(const void *handle, unsigned long long *total, unsigned long long *used) {
    struct instance *instance = instance_of(handle);
    struct device *device = device_of(handle);
    if (!instance && !device)
        return INVALID_ARGUMENT;
    *total = instance ? instance->memory : device->memory;
    *used = instance ? instance->used : device->used;
    return SUCCESS;
}

API int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory) {
    READY();
    GIVEN(memory);
    int code = figures(handle, &memory->total, &memory->used);
    memory->unused = memory->total - memory->used;
    return code;
}

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, unused, used;
};

API int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *memory) {
    READY();
    GIVEN(memory);
    int code = figures(handle, &memory->total, &memory->used);
    memory->unused = memory->total - memory->used;
    memory->reserved = 0;
    return code;
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

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

API int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct process *processes) {
    DEVICE(handle);
    GIVEN(count);
    const struct device *device = device_of(handle);
    unsigned room = *count;
    *count = (unsigned)device->processes;
    if (room < *count)
        return INSUFFICIENT_SIZE;
    for (unsigned number = 0; number < *count; number++) {
        GIVEN(processes);
        processes[number] = (struct process){device->pid[number], device->held[number], ~0u, ~0u};
    }
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
    *now = *pending = (unsigned)device_of(handle)->divided;
    return SUCCESS;
}

API int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) {
    DEVICE(handle);
    GIVEN(count);
    *count = MOST_INSTANCES;
    return SUCCESS;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned number, void **instance) {
    DEVICE(handle);
    GIVEN(instance);
    if (number >= (unsigned)device_of(handle)->instances)
        return NOT_FOUND;
    *instance = instance_handle(index_of(handle), number);
    return SUCCESS;
}

API int nvmlDeviceIsMigDeviceHandle(void *handle, unsigned *is) {
    READY();
    GIVEN(is);
    *is = instance_of(handle) != NULL;
    return SUCCESS;
}

API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *handle, void **parent) {
    READY();
    GIVEN(parent);
    if (!instance_of(handle))
        return INVALID_ARGUMENT;
    *parent = handle_of((unsigned)(((uintptr_t)handle - 0x2000) / MOST_INSTANCES));
    return SUCCESS;
}

API int nvmlDeviceGetGpuInstanceId(void *handle, unsigned *number) {
    READY();
    GIVEN(number);
    if (!instance_of(handle))
        return NOT_SUPPORTED;
    *number = instance_of(handle)->gpu;
    return SUCCESS;
}

API int nvmlDeviceGetComputeInstanceId(void *handle, unsigned *number) {
    READY();
    GIVEN(number);
    if (!instance_of(handle))
        return NOT_SUPPORTED;
    *number = instance_of(handle)->compute;
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
