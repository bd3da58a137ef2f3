/* A libcuda.so.1 that knows no memory. The prototype follows NVIDIA's documentation. */

int cuPointerGetAttribute(void* into, int attribute, unsigned long long address);

int cuPointerGetAttribute(void* into, int attribute, unsigned long long address) {
  enum { invalid_value = 1 };
  (void)into, (void)attribute, (void)address;
  return invalid_value;
}
