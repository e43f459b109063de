"""The backend "qmd": drives the QMD command line (npm `@tobilu/qmd`) as a child process.

It joins memory_core as any backend does, by the entry point in `plugin`, and memory_core knows nothing of it.

    config -> collections -> client (process, daemon) -> output -> passages -> backend
"""
