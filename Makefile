# The commands for users. CMakePresets.json has the settings of builds, tools/ the scripts.
PREFIX ?= /usr/local
.PHONY: build gpu-toolkit gpu-pack wheel test test-ci check test-long fuzz demo demo-hosts bench install uninstall deb clean format

# builds build/release/dtrain, the libraries and the examples
build:
	tools/setup.sh build
	cmake --preset release -DBUILD_TESTING=OFF --log-level=NOTICE
	cmake --build --preset release

# installs a CUDA Toolkit below build/, for the GPU parts, where the machine has none
gpu-toolkit:
	tools/setup.sh gpu_toolkit

# packs all that tests/gpu/run.sh needs on a machine with a GPU, into build/gpu_pack.tgz
gpu-pack:
	tools/setup.sh gpu_pack
	cmake --preset release -DBUILD_TESTING=ON -DDTRAIN_CUDA=ON --log-level=NOTICE
	cmake --build --preset release --target gpu_pack

# builds the wheel of the Python package, into build/dist
wheel:
	tools/setup.sh wheel
	tools/wheel.sh

# shows that dtrain works on this machine: unit tests, short simulations, the binary; as any user
test:
	tools/test.sh

# runs the other tests that must pass before a change goes in: sanitizers, clang-tidy, hosts, frameworks; as root
test-ci:
	tools/test_ci.sh

# runs the quick tests, every few minutes
check:
	tools/check.sh

# runs the tests with full counts and timers, and on a fresh machine
test-long:
	tools/test_ci.sh --long

# fuzzes everything that reads bytes, a minute each; longer: make fuzz SECONDS=600
fuzz:
	tools/fuzz.sh $(SECONDS)

# trains a small network on four processes
demo:
	tools/setup.sh build
	tools/demo.sh

# trains it on four hosts over ssh, which are namespaces of this machine; as root
demo-hosts: build
	tools/demo_hosts.sh

# measures speeds; no test does
bench:
	tools/bench.sh

# installs bin, lib, include and share under PREFIX (below DESTDIR, for packages)
install: build
	umask 022 && cmake --install build/release --prefix $(abspath $(PREFIX))
	tools/find_library.sh $(abspath $(PREFIX))

# removes what the last install to PREFIX has made
uninstall:
	tools/uninstall.sh $(abspath $(PREFIX))

# makes the Debian packages dtrain, libdtrain0 and libdtrain-dev in DEBS
DEBS ?= build/deb
deb: build
	tools/setup.sh deb
	mkdir -p $(DEBS) && tools/deb.sh $(DEBS)

format:
	tools/format.sh

clean:
	rm -rf build
