// Kernels that tests/cubin.py must refuse: narrow accesses, loads and stores in turn, and a frame
// in local memory.

__global__ void narrow(float* to, const float* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    to[i] = from[i];
}

__global__ void in_turn(float4* to, const float4* from, int count) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    __stcs(to + i, __ldcs(from + i));
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
