// Kernels that tests/cubin.py must refuse: narrow accesses, and a frame in local memory.

__global__ void narrow(float* to, const float* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    to[i] = from[i];
}

__global__ void frame(float4* to, const int* from, int count) {
  int values[64];
  for (int i = 0; i < 64; ++i)
    values[i] = from[i];
  for (int i = 0; i < count; ++i)
    values[from[i] & 63] += values[from[i + 1] & 63];
  for (int i = 0; i < 64; ++i)
    to[i] = make_float4(static_cast<float>(values[i]), 0, 0, 0);
}
