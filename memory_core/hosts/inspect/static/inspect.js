// The page: which view is shown, and the health of the index.
import { drawCalendar } from "./calendar.js";
import { ask, count, find, goTo, keep, make, readPlace, state, takeSecret } from "./common.js";
import { drawActivity, drawFacts } from "./facts.js";
import { closeNote, hideNote, openNote } from "./note.js";
import { beginHistory, drawHistory } from "./past.js";
import { drawReview, offerReview } from "./review.js";
import { beginSearch, drawHome, search } from "./search.js";

const VIEWS = {
  search: () => {}, calendar: drawCalendar, facts: drawFacts, history: drawHistory, activity: drawActivity, review: drawReview,
  health: () => drawHealth(false),
};

async function drawHealth(deep) {
  find("findings").replaceChildren(deep ? make("li", {}, "Checking…") : "");
  try {
    const health = await ask("health", deep ? { deep: "1" } : {});
    const rows = Object.entries(health.status).filter(([, value]) => !Array.isArray(value) || value.length);
    find("status").replaceChildren(
      ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, Array.isArray(value) ? value.join("; ") : `${value}`)]),
    );
    find("findings").replaceChildren(
      ...health.findings.map((each) =>
        make(
          "li", { className: "finding" }, make("span", { className: `badge ${each.level}` }, each.level),
          make("div", {}, make("b", {}, each.subject), ` ${each.message}`, each.action ? make("p", { className: "quiet" }, each.action) : null),
        ),
      ),
    );
  } catch (error) {
    find("findings").replaceChildren(make("li", {}, error.message));
  }
}

const FILTERS = { place: "place", words: "facts-filter", scope: "facts-scope", session: "activity-session" };

async function turnTo() {
  const { view: name, rest, values } = readPlace();
  const view = name in VIEWS ? name : "search";
  for (const each of Object.keys(VIEWS)) {
    find(`view-${each}`).hidden = each !== view;
    const tab = document.querySelector(`nav a[href="#${each}"]`);
    if (each === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (find("query").value.trim() !== (values.get("q") ?? "")) {
    find("query").value = values.get("q") ?? "";
    await search();
  }
  if (values.has("note")) openNote(values.get("note"), Number(values.get("line") ?? 0));
  else hideNote();
  for (const name of ["place", "words"]) find(FILTERS[name]).value = values.get(name) ?? "";
  await VIEWS[view](rest);
  for (const [name, id] of Object.entries(FILTERS)) {
    const field = find(id);
    if (field.tagName !== "SELECT" || !values.has(name)) continue; // its choices have come with the view
    field.value = values.get(name);
    field.dispatchEvent(new Event("change"));
  }
}

async function begin() {
  beginSearch();
  beginHistory();
  find("check").addEventListener("click", () => drawHealth(true));
  for (const [name, id] of Object.entries(FILTERS)) find(id).addEventListener("input", (event) => keep({ [name]: event.target.value }));
  for (const tab of document.querySelectorAll("nav a")) {
    tab.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      goTo(tab.getAttribute("href").slice(1));
    });
  }
  addEventListener("hashchange", () => (location.hash.startsWith("#token=") ? location.reload() : turnTo()));
  addEventListener("keydown", (event) => event.key === "Escape" && !find("note").hidden && closeNote());
  try {
    await takeSecret();
    const held = await ask("notes");
    state.notes = held.notes;
    find("agent").textContent = `${held.agent} · ${count(held.notes.length, "note")}`;
    drawHome();
    state.reviews = held.reviews;
    offerReview();
  } catch (error) {
    find("home").hidden = true;
    find("verdict").className = "bad";
    find("verdict").textContent = state.problem = error.message;
  }
  turnTo();
}

begin();
