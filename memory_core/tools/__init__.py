"""The tools that a model may call: schemas, results, prompts, scope."""
