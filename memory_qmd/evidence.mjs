// Loaded into `qmd mcp --http` before QMD itself (NODE_OPTIONS=--import=...). The answers of QMD's server lack the evidence:
// they have no cosine and no judgement of the reranker, and without a reranker their score is 1 / rank. QMD's SDK returns
// both, like `qmd query --explain`. So this module adds a route to QMD's server that calls the SDK in the same process:
//
//   GET /evidence   200 if the models are loaded, 503 while they are loading, 500 if they cannot be loaded. The first request
//                   starts the loading.
//   POST /evidence  {query | queries, collections, limit, rerank} -> {results: [{file, line, score, explain}]}
//
// A QMD that does not run on Node ignores this module and answers 404.
import http from "node:http";
import { realpathSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const SNIPPET_CHARS = 300; // as on the command line, so that the line is the same
const { INDEX_PATH, MEMORY_QMD_TOKEN, MEMORY_QMD_WARM_UP, QMD_CONFIG_DIR } = process.env;

async function open() {
  const sdk = await import(new URL("../index.js", pathToFileURL(realpathSync(process.argv[1]))));
  const store = await sdk.createStore({ dbPath: INDEX_PATH, configPath: join(QMD_CONFIG_DIR, "index.yml") });
  await store.search(JSON.parse(MEMORY_QMD_WARM_UP));
  return { sdk, store };
}

async function search({ sdk, store }, question) {
  const results = await store.search({ ...question, explain: true });
  const first = (type) => question.queries?.find((one) => one.type === type)?.query;
  const shown = question.query ?? first("lex") ?? first("vec") ?? "";
  return results.map(({ body, bestChunk, bestChunkPos, displayPath, explain, score }) => ({
    file: `qmd://${displayPath.split("/").map(encodeURIComponent).join("/")}`,
    line: sdk.extractSnippet(body, shown, SNIPPET_CHARS, bestChunkPos, bestChunk.length).line,
    score,
    explain: { vectorScores: explain?.vectorScores, rerankScore: explain?.rerankScore },
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

function evidence() {
  let opening;
  let state = 503;
  let last = Promise.resolve();

  function begin() {
    opening ??= open();
    opening.then(() => { state = 200; }, (error) => { state = 500; console.error(error); });
  }

  // Searches run one after the other, because llama.cpp hangs if two texts are embedded at once. A search whose client has
  // gone is left out.
  function inTurn(response, question) {
    const turn = last.then(async () => (response.destroyed ? [] : search(await opening, question)));
    last = turn.catch(() => {});
    return turn;
  }

  return async (request, response) => {
    // QMD protects its own routes against scripts of other sites, but not this one.
    if (request.headers["x-memory-qmd-token"] !== MEMORY_QMD_TOKEN) return reply(response, 403, {});
    begin();
    if (request.method === "GET") return reply(response, state, {});
    try {
      reply(response, 200, { results: await inTurn(response, await read(request)) });
    } catch (error) {
      reply(response, 500, { error: String(error) });
    }
  };
}

if (process.argv.includes("mcp")) {
  const { createServer } = http;
  http.createServer = (listener) => {
    const answer = evidence();
    return createServer((request, response) => (request.url === "/evidence" ? answer : listener)(request, response));
  };
  syncBuiltinESMExports();
}
