# The MCP server over HTTP, for notes in /notes: docker build -t memory-core .
# Some 370 MB: 125 of the base, 230 of the packages with their bytecode, without which a start takes twice as long, 15 of psycopg.
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY . .
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --prefix /packages '.[mcp,postgres]'

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
    CMD ["python", "-c", "from http.client import *; c = HTTPConnection('127.0.0.1', 8765, timeout=4); c.request('HEAD', '/mcp'); exit(c.getresponse().status >= 500)"]
# It refuses to start without MEMORY_CORE_MCP_TOKEN, of 16 characters or more.
ENTRYPOINT ["memory-core"]
CMD ["mcp", "--http", "0.0.0.0:8765"]
