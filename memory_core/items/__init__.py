"""Items: short facts beside the notes, in a file of their own; written, reinforced, ranked, recalled, forgotten."""
