# The words people type. Everything else is in CMakePresets.json and tools/.
.PHONY: build
build:
	cmake --preset release
	cmake --build --preset release
