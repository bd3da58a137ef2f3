/* A libnvidia-ml.so.1 for machines without GPUs. The variable FAKE_NVML lists the GPUs that it
 * reports, as words with blanks between:
 *   gpu=NAME          a GPU (NAME without blanks) at the next PCI address, a1:00.0 and up
 *   mig=N             the last GPU is in MIG mode and has N instances
 *   denied, lost      the last GPU fails with "Insufficient Permissions", or with "GPU is lost"
 *   mode=N            the compute mode of the last GPU
 *   nvlink            the last GPU reaches the others with NVLink by it
 *   level=N           the level of the last GPU's topology; that of a pair is the larger one
 *   nop2p=STATUS      no other GPU reaches the memory of the last one, with this status
 *   node=N            the NUMA node of the last GPU's memory
 *   init=STATUS       nvmlInit fails with this status
 *   hang              nvmlInit never returns
 * The prototypes follow NVIDIA's documentation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { devices_max = 16, instances_max = 7, success = 0, not_supported = 3, not_found = 6 };

struct device {
  char uuid[64];
  char name[64];
  int status;
  unsigned instances;
  unsigned number;
  int mode, nvlink, level, nop2p, node;
  struct device* whole;
};

static struct device gpus[devices_max];
static struct device instances[devices_max][instances_max];
static unsigned count;
static int init_status;

static void read_word(const char* word) {
  struct device* last = count > 0 ? &gpus[count - 1] : NULL;
  if (strncmp(word, "gpu=", 4) == 0 && count < devices_max) {
    struct device* gpu = &gpus[count];
    snprintf(gpu->name, sizeof gpu->name, "%s", word + 4);
    snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%08x-0000-4000-8000-000000000000", count + 0xa0);
    gpu->number = count++;
  } else if (strncmp(word, "mig=", 4) == 0 && last != NULL) {
    last->instances = (unsigned)atoi(word + 4);
    for (unsigned i = 0; i < last->instances && i < instances_max; ++i) {
      struct device* instance = &instances[last->number][i];
      instance->whole = last;
      snprintf(instance->name, sizeof instance->name, "%.40s MIG 1g", last->name);
      snprintf(instance->uuid, sizeof instance->uuid, "MIG-%08x-0000-4000-8000-00000000000%u",
               last->number + 0xb0, i);
    }
  } else if (strncmp(word, "mode=", 5) == 0 && last != NULL) {
    last->mode = atoi(word + 5);
  } else if (strcmp(word, "nvlink") == 0 && last != NULL) {
    last->nvlink = 1;
  } else if (strncmp(word, "level=", 6) == 0 && last != NULL) {
    last->level = atoi(word + 6);
  } else if (strncmp(word, "nop2p=", 6) == 0 && last != NULL) {
    last->nop2p = atoi(word + 6);
  } else if (strncmp(word, "node=", 5) == 0 && last != NULL) {
    last->node = 1 + atoi(word + 5);
  } else if (strcmp(word, "denied") == 0 && last != NULL) {
    last->status = 4;
  } else if (strcmp(word, "lost") == 0 && last != NULL) {
    last->status = 15;
  } else if (strncmp(word, "init=", 5) == 0) {
    init_status = atoi(word + 5);
  } else if (strcmp(word, "hang") == 0) {
    for (;;)
      pause();
  }
}

int nvmlInit_v2(void) {
  const char* wanted = getenv("FAKE_NVML");
  char words[1024];
  char* rest = words;
  snprintf(words, sizeof words, "%s", wanted == NULL ? "" : wanted);
  memset(gpus, 0, sizeof gpus);
  count = 0;
  init_status = success;
  for (char* word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
    read_word(word);
  return init_status;
}

int nvmlShutdown(void) {
  return success;
}

const char* nvmlErrorString(int status) {
  switch (status) {
    case 4:
      return "Insufficient Permissions";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

int nvmlDeviceGetCount_v2(unsigned* result) {
  *result = count;
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device** result) {
  if (index >= count) return not_found;
  *result = &gpus[index];
  return gpus[index].status;
}

int nvmlDeviceGetUUID(const struct device* device, char* text, unsigned length) {
  snprintf(text, length, "%s", device->uuid);
  return success;
}

int nvmlDeviceGetName(const struct device* device, char* text, unsigned length) {
  snprintf(text, length, "%s", device->name);
  return success;
}

struct memory {
  unsigned long long total, free, used;
};

int nvmlDeviceGetMemoryInfo(const struct device* device, struct memory* memory) {
  memory->total = device->whole == NULL ? 80ULL << 30 : 10ULL << 30;
  memory->used = 1ULL << 30;
  memory->free = memory->total - memory->used;
  return success;
}

struct pci_info {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

int nvmlDeviceGetPciInfo_v3(const struct device* device, struct pci_info* pci) {
  memset(pci, 0, sizeof *pci);
  snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", device->number + 0xa1);
  return success;
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  snprintf(text, length, "535.104.05");
  return success;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return success;
}

int nvmlDeviceGetMigMode(const struct device* device, unsigned* current, unsigned* pending) {
  *current = *pending = device->instances > 0;
  return success;
}

int nvmlDeviceGetMaxMigDeviceCount(const struct device* device, unsigned* result) {
  (void)device;
  *result = instances_max;
  return success;
}

int nvmlDeviceGetComputeMode(const struct device* device, int* mode) {
  *mode = device->mode;
  return success;
}

int nvmlDeviceGetMemoryAffinity(const struct device* device, unsigned words, unsigned long* nodes,
                                unsigned scope) {
  (void)scope;
  memset(nodes, 0, words * sizeof *nodes);
  if (device->node == 0) return not_supported;
  nodes[(device->node - 1) / 64] = 1UL << (device->node - 1) % 64;
  return success;
}

int nvmlDeviceGetTopologyCommonAncestor(const struct device* a, const struct device* b,
                                        int* level) {
  *level = a->level > b->level ? a->level : b->level;
  return success;
}

int nvmlDeviceGetP2PStatus(const struct device* from, const struct device* to, int capability,
                           int* status) {
  const int over_nvlink = 2;
  *status = capability == over_nvlink ? (from->nvlink && to->nvlink ? 0 : 5) : to->nop2p;
  return success;
}

/* Real drivers leave gaps between the indices of MIG devices, so every second index is empty. */
int nvmlDeviceGetMigDeviceHandleByIndex(const struct device* device, unsigned index,
                                        struct device** result) {
  if (index % 2 == 1 || index / 2 >= device->instances) return not_found;
  *result = &instances[device->number][index / 2];
  return success;
}
