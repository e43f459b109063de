"""The backend "qmd": drives the QMD command line (npm `@tobilu/qmd`) as a child process.

It joins memory_core like any backend, by the entry point in `plugin`; memory_core does not know it.

    plugin -> backend -> updates -> indexing -> client -> process, home
                      -> search -> client, warm_server -> queries
                      -> hits -> collections, queries, database
"""
