// libhwloc.a calls libudev for the names of devices. No static libudev exists, and dtrain asks
// hwloc for no device. These functions replace libudev and report no device.

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libudev's names
struct udev;
struct udev_device;
// NOLINTEND(readability-identifier-naming)

udev* udev_new() {
  return nullptr;
}
udev* udev_unref(udev* /*context*/) {
  return nullptr;
}
udev_device* udev_device_new_from_subsystem_sysname(udev* /*context*/, const char* /*subsystem*/,
                                                    const char* /*name*/) {
  return nullptr;
}
udev_device* udev_device_unref(udev_device* /*device*/) {
  return nullptr;
}
const char* udev_device_get_property_value(udev_device* /*device*/, const char* /*key*/) {
  return nullptr;
}
}
