# The MCP server over HTTP, for notes in /notes: docker build -t memory-core .
# Some 330 MB: 125 of the base, 190 of the packages, whose bytecode is left out, 15 of psycopg.
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY . .
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --no-compile --prefix /packages '.[mcp,postgres]'

FROM python:3.13-slim-bookworm
COPY --from=build /packages /usr/local
RUN useradd --uid 10001 --create-home --home-dir /state memory \
    && mkdir -p /notes/memory \
    && chown -R memory:memory /notes
# /notes holds what people and agents write, /state the index, history and items. Nothing else is written, but for /tmp.
ENV HOME=/state \
    MEMORY_CORE_WORKSPACE=/notes \
    MEMORY_CORE_STATE_DIR=/state \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
VOLUME ["/notes", "/state"]
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 8765), 4).close()"]
# It refuses to start without MEMORY_CORE_MCP_TOKEN, of 16 characters or more.
ENTRYPOINT ["memory-core"]
CMD ["mcp", "--http", "0.0.0.0:8765"]
