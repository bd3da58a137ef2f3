/* A libcuda.so.1 that knows the memory of one GPU, and counts its calls. The prototype follows
 * NVIDIA's documentation. */
#include <string.h>

unsigned long long fake_begin = 0;
unsigned long long fake_bytes = 0;
int fake_questions = 0;

int cuPointerGetAttributes(unsigned count, int* attributes, void** into,
                           unsigned long long address);

int cuPointerGetAttributes(unsigned count, int* attributes, void** into,
                           unsigned long long address) {
  enum { success = 0, memory_type = 2, type_device = 2, device_ordinal = 9 };
  enum { range_start = 11, range_size = 12 };
  const unsigned type = address - fake_begin < fake_bytes ? type_device : 0;
  ++fake_questions;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == memory_type) memcpy(into[i], &type, sizeof type);
    if (attributes[i] == device_ordinal) memset(into[i], 0, sizeof(int));
    if (attributes[i] == range_start) memcpy(into[i], &fake_begin, sizeof fake_begin);
    if (attributes[i] == range_size) memcpy(into[i], &fake_bytes, sizeof fake_bytes);
  }
  return success;
}
