"""The backend "qmd": drives the QMD command line (npm `@tobilu/qmd`) as a child process.

It joins memory_core like any backend, by the entry point in `plugin`; memory_core does not know it.

    plugin -> backend -> updates -> indexing -> collections, client -> process, home
                      -> search -> client, warm_server -> parsing
                      -> hits -> locating, places -> scoring
"""
