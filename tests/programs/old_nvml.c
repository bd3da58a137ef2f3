/* An old libnvidia-ml.so.1, which lacks the functions that dtrain needs. */
int nvmlInit(void);
int nvmlInit(void) {
  return 0;
}
