"""Text without files: Markdown, chunks, units, paragraphs, terms."""
