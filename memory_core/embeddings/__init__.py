"""Providers of embeddings, one module a family; `registry` opens the one that is configured."""
