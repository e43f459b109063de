"""Converters between the messages of other frameworks and OpenAI's chat form, one module a framework.

Each module has two functions. `to_openai` takes the framework's messages and returns chat messages that any chat endpoint
accepts: every tool message answers a call of the assistant message before it, and every call has its answer. Texts, calls and
results are kept; media become a word in brackets, such as `[image]`; the model's reasoning is left out. `from_openai` makes the
framework's own messages of chat messages.
"""
