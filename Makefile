# The words people type. How things are built is in CMakePresets.json, how they are tested in tools/.
PREFIX ?= /usr/local
.PHONY: build test check test-long fuzz demo demo-hosts bench install deb clean format

# build/release/dtrain, the libraries and the examples
build:
	tools/setup.sh build
	cmake --preset release -DBUILD_TESTING=OFF --log-level=WARNING
	cmake --build --preset release

# everything that must pass before a change goes in
test:
	tools/test.sh

# the quick tier, for every few minutes
check:
	tools/check.sh

# the full counts and timers, and a machine that never saw the project
test-long:
	tools/test.sh --long

# any bytes for everything that reads some, a minute each; longer: make fuzz SECONDS=600
fuzz:
	tools/fuzz.sh $(SECONDS)

# trains a small network on four processes
demo: build
	tools/demo.sh

# the same on four hosts over ssh, which are namespaces of this machine; as root
demo-hosts: build
	tools/demo_hosts.sh

# speeds; none of them is a test
bench:
	tools/bench.sh

# bin, lib, include and share under PREFIX (DESTDIR in front of it, for packages)
install: build
	umask 022 && cmake --install build/release --prefix $(abspath $(PREFIX))

# Debian packages of dtrain, libdtrain0 and libdtrain-dev in DEBS
DEBS ?= build/deb
deb: build
	tools/setup.sh deb
	mkdir -p $(DEBS) && tools/deb.sh $(DEBS)

format:
	tools/format.sh

clean:
	rm -rf build
