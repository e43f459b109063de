"""From files to rows and embeddings, over any store that implements the writer."""
