// Preloaded into `qmd mcp --http` (NODE_OPTIONS=--import=...). QMD's server answers without its evidence: no cosine, no
// judgement of the reranker, and a score that is no more than the rank. QMD's SDK tells them, as `qmd query --explain`
// does, so this adds one route to the server that asks the SDK in the same process:
//
//   GET /evidence   200 once the models are loaded, 503 until then, 404 by a QMD that this was not loaded into.
//   POST /evidence  {query | queries, collections, limit, rerank} -> {results: [{file, line, score, explain}]}
import http from "node:http";
import { realpathSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const SNIPPET_CHARS = 300; // as on the command line, so that the line is the same
const { INDEX_PATH, QMD_CONFIG_DIR, MEMORY_QMD_TOKEN, MEMORY_QMD_WARM } = process.env;

async function open() {
  const sdk = await import(new URL("../index.js", pathToFileURL(realpathSync(process.argv[1]))));
  const store = await sdk.createStore({ dbPath: INDEX_PATH, configPath: join(QMD_CONFIG_DIR, "index.yml") });
  await store.search(JSON.parse(MEMORY_QMD_WARM));
  return { sdk, store };
}

async function search({ sdk, store }, question) {
  const results = await store.search({ ...question, explain: true });
  const typed = question.queries ?? [];
  const first = (type) => typed.find((one) => one.type === type)?.query;
  const shown = question.query ?? first("lex") ?? first("vec") ?? "";
  return results.map(({ body, bestChunk, bestChunkPos, displayPath, explain, score }) => ({
    file: `qmd://${displayPath.split("/").map(encodeURIComponent).join("/")}`,
    line: sdk.extractSnippet(body, shown, SNIPPET_CHARS, bestChunkPos, bestChunk.length).line,
    score,
    explain: { vectorScores: explain?.vectorScores ?? [], rerankScore: explain?.rerankScore },
  }));
}

async function read(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString());
}

function reply(response, status, document) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(document));
}

function route() {
  let ready = false;
  const opening = open();
  // llama.cpp hangs when two texts are embedded at once.
  let last = opening.then(() => { ready = true; }).catch((error) => console.error("no evidence:", error));
  return async (request, response) => {
    if (request.headers["x-memory-qmd-token"] !== MEMORY_QMD_TOKEN) return reply(response, 403, {});
    if (request.method === "GET") return reply(response, ready ? 200 : 503, {});
    try {
      const question = await read(request);
      const turn = last.then(async () => (response.destroyed ? [] : search(await opening, question)));
      last = turn.catch(() => {});
      reply(response, 200, { results: await turn });
    } catch (error) {
      reply(response, 500, { error: String(error) });
    }
  };
}

if (process.argv.includes("mcp")) {
  const { createServer } = http;
  http.createServer = (listener) => {
    const evidence = route();
    return createServer((request, response) =>
      request.url === "/evidence" ? evidence(request, response) : listener(request, response),
    );
  };
  syncBuiltinESMExports();
}
