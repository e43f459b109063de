"""Embeddings made on this machine by llama.cpp or numpy."""
