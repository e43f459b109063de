"""From a question to the passages that answer it, over any store that implements the reader."""
