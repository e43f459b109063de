// The page: asks the four questions of application.py. Text of notes goes in by textContent, and the HTML of a note, which the
// server has made harmless, by the one trusted-types policy below.
"use strict";

const find = (id) => document.getElementById(id);
const policy = window.trustedTypes?.createPolicy("memory-core", { createHTML: (html) => html });
const trusted = (html) => (policy ? policy.createHTML(html) : html);
const state = { notes: [], found: null, latest: 0 };

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

async function ask(name, query = {}) {
  const answer = await fetch(`/api/${name}?${new URLSearchParams(query)}`);
  const body = await answer.json();
  if (!answer.ok) throw new Error([body.error, body.action].filter(Boolean).join(". "));
  return body;
}

const sentence = (verdict) =>
  `${verdict.reason[0].toUpperCase()}${verdict.reason.slice(1)}.` + (verdict.action ? ` What you can do: ${verdict.action}.` : "");
const show = (value) => (value === null ? "" : value.toFixed(2));

function drawBars(passage) {
  const bars = make("dl", { className: "bars" });
  for (const [name, value, kind] of [["score", passage.score, ""], ["words", passage.textScore, "words"], ["meaning", passage.vectorScore, "meaning"]]) {
    if (value === null) continue;
    const meter = make("meter", { className: kind, min: 0, max: 1, value, ariaLabel: `${name} ${show(value)}` });
    bars.append(make("dt", {}, name), make("dd", {}, meter), make("dd", {}, show(value)));
  }
  return bars;
}

function drawPassage(passage) {
  const place = `${passage.path}#L${passage.startLine}`;
  const open = make("button", { className: "place", type: "button", onclick: () => openNote(passage.path, passage.startLine) }, place);
  const lost = passage.shownAs === null;
  return make(
    "li", { className: lost ? "lost" : "" },
    make("div", { className: "head" }, open, lost ? null : make("b", {}, `result ${passage.shownAs}`)),
    make("p", { className: "text" }, passage.text),
    drawBars(passage),
    lost ? make("p", { className: "why" }, sentence(passage.verdict)) : null,
  );
}

function describe(asked) {
  const words = asked.terms.map((term) => `${term.text} (${term.documents || "in none"})`).join(", ");
  const parts = [words && `looked for ${words}`, asked.leftOut.length && `left out ${asked.leftOut.join(", ")}`, asked.language];
  return parts.filter(Boolean).join("; ");
}

async function search() {
  const query = find("query").value.trim();
  const number = ++state.latest;
  history.replaceState(null, "", "#search");
  if (!query) {
    state.found = null;
    find("results").replaceChildren();
    for (const id of ["verdict", "question", "reason"]) find(id).textContent = "";
    return;
  }
  try {
    const found = await ask("search", { q: query });
    if (number !== state.latest) return;
    state.found = found;
    find("verdict").textContent = [found.warning, sentence(found.verdict)].filter(Boolean).join(" — ");
    find("question").textContent = describe(found.asked);
    find("results").replaceChildren(...found.passages.map(drawPassage));
    find("reason").textContent = "";
    if (found.stale || found.verdict.stage === "index") setTimeout(() => number === state.latest && search(), 1500);
  } catch (error) {
    if (number === state.latest) find("verdict").textContent = error.message;
  }
}

async function explain(event) {
  event.preventDefault();
  const [query, place] = [find("query").value.trim(), find("place").value.trim()];
  if (!query || !place) {
    find("reason").textContent = query ? "Name a note, or a line of it." : "Ask something first.";
    return;
  }
  try {
    const found = await ask("explain", { q: query, place });
    find("reason").textContent = sentence(found.verdict);
  } catch (error) {
    find("reason").textContent = error.message;
  }
}

async function openNote(path, line) {
  const article = find("note");
  location.hash = "#search";
  try {
    const note = await ask("note", { path });
    const passages = note.passages.map((passage) =>
      make(
        "section", { className: "passage" },
        make("p", {}, `lines ${passage.startLine} to ${passage.endLine}`),
        ...passage.units.map((unit) => {
          const inside = make("div", { tabIndex: -1 });
          inside.innerHTML = trusted(unit.html);
          const isHit = line >= unit.startLine && line <= unit.endLine;
          return make("div", { className: isHit ? "unit hit" : "unit" }, inside);
        }),
      ),
    );
    article.replaceChildren(make("h2", {}, note.path), ...passages, note.truncated ? make("p", { className: "quiet" }, "The note goes on.") : "");
    article.focus({ preventScroll: true });
    (article.querySelector(".hit") ?? article).scrollIntoView({ block: "center" });
  } catch (error) {
    article.replaceChildren(make("p", {}, error.message));
  }
}

function drawCalendar() {
  const byDay = Map.groupBy ? Map.groupBy(state.notes, (note) => note.day) : group(state.notes);
  const hits = new Set((state.found?.passages ?? []).filter((each) => each.shownAs !== null).map((each) => each.path));
  const months = [...new Set([...byDay.keys()].map((day) => day.slice(0, 7)))].sort().reverse();
  find("months").replaceChildren(...months.map((month) => drawMonth(month, byDay, hits)));
  find("of-day").replaceChildren();
}

function group(notes) {
  const days = new Map();
  for (const note of notes) days.set(note.day, [...(days.get(note.day) ?? []), note]);
  return days;
}

function drawMonth(month, byDay, hits) {
  const [year, number] = month.split("-").map(Number);
  const first = (new Date(year, number - 1, 1).getDay() + 6) % 7;
  const cells = Array.from({ length: first }, () => make("span"));
  for (let day = 1; day <= new Date(year, number, 0).getDate(); day++) {
    const name = `${month}-${String(day).padStart(2, "0")}`;
    const notes = byDay.get(name);
    if (!notes) cells.push(make("span", {}, `${day}`));
    else {
      const isHit = notes.some((note) => hits.has(note.path));
      const label = `${day}: ${name}, ${notes.length} ${notes.length === 1 ? "note" : "notes"}${isHit ? ", found by the search" : ""}`;
      const button = make("button", { type: "button", className: isHit ? "hit" : "", ariaLabel: label, ariaPressed: "false" }, `${day}`);
      button.onclick = () => showDay(button, notes);
      cells.push(button);
    }
  }
  const title = new Date(year, number - 1, 1).toLocaleDateString("en", { month: "long", year: "numeric" });
  return make("div", { className: "month" }, make("h2", {}, title), make("div", { className: "days" }, ...cells));
}

function showDay(button, notes) {
  for (const other of find("months").querySelectorAll("[aria-pressed=true]")) other.ariaPressed = "false";
  button.ariaPressed = "true";
  const entries = notes.map((note) =>
    make("li", {}, make("button", { className: "place", type: "button", onclick: () => openNote(note.path, 0) }, note.path)),
  );
  find("of-day").replaceChildren(...entries);
}

async function drawHealth(deep) {
  find("findings").replaceChildren(deep ? make("li", {}, "Checking…") : "");
  try {
    const health = await ask("health", deep ? { deep: "1" } : {});
    const rows = Object.entries(health.status).filter(([, value]) => !Array.isArray(value) || value.length);
    find("status").replaceChildren(
      ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, Array.isArray(value) ? value.join("; ") : `${value}`)]),
    );
    find("findings").replaceChildren(
      ...health.findings.map((each) => make("li", {}, make("b", {}, each.level), ` ${each.subject}: ${each.message}${each.action ? ` ${each.action}` : ""}`)),
    );
  } catch (error) {
    find("findings").replaceChildren(make("li", {}, error.message));
  }
}

function turnTo() {
  const view = ["calendar", "health"].find((name) => location.hash === `#${name}`) ?? "search";
  for (const name of ["search", "calendar", "health"]) {
    find(`view-${name}`).hidden = name !== view;
    const link = document.querySelector(`nav a[href="#${name}"]`);
    if (name === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view === "calendar") drawCalendar();
  if (view === "health") drawHealth(false);
}

async function begin() {
  let waiting = 0;
  find("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  find("why").addEventListener("submit", explain);
  find("check").addEventListener("click", () => drawHealth(true));
  addEventListener("hashchange", turnTo);
  try {
    const held = await ask("notes");
    state.notes = held.notes;
    find("agent").textContent = `${held.agent} · ${held.notes.length} notes`;
    find("paths").replaceChildren(...held.notes.map((note) => make("option", { value: note.path })));
  } catch (error) {
    find("verdict").textContent = error.message;
  }
  turnTo();
}

begin();
