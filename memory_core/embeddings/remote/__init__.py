"""Embeddings requested over the network: one at a time, in batches, as batch jobs."""
