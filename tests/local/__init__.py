"""Tests that run real models through llama-cpp-python and numpy: `make test-local`."""
