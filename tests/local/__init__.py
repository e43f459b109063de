"""Tests that run a real GGUF model through llama-cpp-python: `make test-local`."""
