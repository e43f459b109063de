// Search as one types, what was left out and why, and "why not this note?".
import { ask, count, find, keep, link, make, showDay, state } from "./common.js";
import { openNote } from "./note.js";

const MOST_OFFERED = 30; // notes, while a path is typed
const FEW = 5; // of what was left out that are shown at once
const STAGES = ["question", "file", "index", "dates", "candidates", "gate", "packing", "shown"];
const BEGIN = [
  "No notes yet. A note is a Markdown file in `memory/`, or `MEMORY.md`. Three ways to begin:",
  "Write one: `memory-core add \"The dentist is on Friday at nine.\"`",
  "Give this memory to an agent, who writes them with memory_append: `memory-core install claude-code`",
  "Search what other programs keep: `memory-core adopt`",
];
let latest = 0;

const sentence = (verdict) =>
  `${verdict.reason[0].toUpperCase()}${verdict.reason.slice(1)}.` + (verdict.action ? ` What you can do: ${verdict.action}.` : "");

function drawBars(passage) {
  const bars = make("dl", { className: "bars" });
  for (const [name, value, kind] of [["score", passage.score, ""], ["evidence", passage.evidence, ""], ["words", passage.textScore, "words"], ["meaning", passage.vectorScore, "meaning"]]) {
    if (value === null || value === undefined) continue;
    const shown = value.toFixed(2);
    const meter = make("meter", { className: kind, min: 0, max: 1, value, ariaLabel: `${name} ${shown}` });
    bars.append(make("div", {}, make("dt", {}, name), make("dd", {}, make("span", {}, shown), meter)));
  }
  return bars;
}

function drawPassage(passage) {
  const lines = passage.startLine === passage.endLine ? `L${passage.startLine}` : `L${passage.startLine}–${passage.endLine}`;
  const lost = passage.shownAs === null;
  return make(
    "li", { className: lost ? "lost" : "" },
    make("div", { className: "head" }, link(`${passage.path}#${lines}`, () => openNote(passage.path, passage.startLine))),
    make("p", { className: "text" }, passage.text),
    drawBars(passage),
    passage.alsoIn.length ? make("p", { className: "why" }, `Also in ${passage.alsoIn.join(", ")}.`) : null,
    lost ? make("p", { className: "why" }, sentence(passage.verdict)) : null,
  );
}

function describe(asked) {
  const chips = asked.terms.map((term) =>
    make("span", { className: term.documents ? "chip" : "chip none" }, `${term.meant ? `${term.meant}, taken for ${term.text}` : term.text} `, make("b", {}, term.documents ? `in ${term.documents}` : "nowhere")),
  );
  const rest = [asked.leftOut.length && `left out ${asked.leftOut.join(", ")}`, asked.language].filter(Boolean).join(" · ");
  return [...chips, rest && make("span", {}, rest)].filter(Boolean);
}

function drawLost(passages, all) {
  const shown = all ? passages : passages.slice(0, FEW);
  find("left-out").hidden = !passages.length;
  find("lost").replaceChildren(...shown.map(drawPassage));
  find("more").hidden = shown.length === passages.length;
  find("more").textContent = `Show ${passages.length - shown.length} more`;
  find("more").onclick = () => {
    drawLost(passages, true);
    find("lost").children[FEW]?.querySelector("button")?.focus();
  };
}

export async function search() {
  const query = find("query").value.trim();
  const number = ++latest;
  find("home").hidden = Boolean(query);
  find("found").hidden = !query;
  find("reason").textContent = "";
  find("stages").hidden = true;
  if (!query) {
    state.found = null;
    find("verdict").textContent = "";
    return;
  }
  try {
    const found = await ask("search", { q: query });
    if (number !== latest) return;
    state.found = found;
    const shown = found.passages.filter((each) => each.shownAs !== null);
    const result = shown.length ? `${count(shown.length, "passage")} found.` : sentence(found.verdict);
    find("verdict").className = shown.length ? "good" : "bad";
    find("verdict").textContent = [result, found.warning && `${found.warning}.`].filter(Boolean).join(" ");
    find("question").replaceChildren(...describe(found.asked));
    find("results").replaceChildren(...shown.map(drawPassage));
    drawLost(found.passages.filter((each) => each.shownAs === null), false);
    if (found.stale || found.verdict.stage === "index") setTimeout(() => number === latest && search(), 1500);
  } catch (error) {
    if (number !== latest) return;
    find("found").hidden = true;
    find("verdict").className = "bad";
    find("verdict").textContent = error.message;
  }
}

async function explain(event) {
  event.preventDefault();
  const [query, place] = [find("query").value.trim(), find("place").value.trim()];
  find("stages").hidden = true;
  if (!place) {
    find("reason").textContent = "Name a note, or a line of it.";
    return;
  }
  try {
    const { verdict } = await ask("explain", { q: query, place });
    const at = STAGES.indexOf(verdict.stage);
    find("stages").hidden = at < 0;
    find("stages").replaceChildren(
      ...STAGES.map((name, number) => {
        const fate = number < at || name === "shown" && verdict.stage === "shown" ? "passed" : number === at ? "lost" : "never";
        const word = { passed: "passed", lost: "lost here", never: "not reached" }[fate];
        return make("li", { className: fate, title: word }, name, make("span", { className: "hidden" }, ` (${word})`));
      }),
    );
    find("reason").textContent = sentence(verdict);
  } catch (error) {
    find("reason").textContent = error.message;
  }
}

// A list of all notes, of which there may be thousands, would make the page slow.
function offerPaths() {
  const typed = find("place").value.trim().toLowerCase();
  const fitting = state.notes.filter((note) => note.path.toLowerCase().includes(typed)).slice(0, MOST_OFFERED);
  find("paths").replaceChildren(...fitting.map((note) => make("option", { value: note.path })));
}

export function drawHome() {
  const { notes } = state;
  const days = [...new Set(notes.map((note) => note.day))].sort();
  const figures = [["notes", notes.length.toLocaleString("en")], ["days", days.length.toLocaleString("en")]];
  if (days.length) figures.push(["from", showDay(new Date(days[0]))], ["to", showDay(new Date(days.at(-1)))]);
  find("figures").replaceChildren(...figures.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  const last = [...notes].sort((one, other) => other.day.localeCompare(one.day) || one.path.localeCompare(other.path)).slice(0, 8);
  const rows = last.map((note) => make("li", {}, link(note.path, () => openNote(note.path, 0)), make("span", { className: "quiet" }, showDay(new Date(note.day)))));
  find("latest").replaceChildren(...(rows.length ? rows : BEGIN.map((text) => make("li", { className: "empty" }, ...text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part))))));
}

export function beginSearch() {
  let waiting = 0;
  let isTyped = false; // a question that is being typed is one step of the browser's history
  find("query").addEventListener("input", () => {
    keep({ q: find("query").value.trim() }, !isTyped);
    isTyped = true;
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  find("query").addEventListener("change", () => (isTyped = false));
  find("why").addEventListener("submit", explain);
  find("place").addEventListener("input", offerPaths);
  find("place").addEventListener("focus", offerPaths);
}
