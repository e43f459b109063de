"""Read the configuration: strict, in several dialects, resolved per agent.

Only `load.load_config` reads files and the environment; all other rooms are given the `AgentConfig` of one agent.
"""
