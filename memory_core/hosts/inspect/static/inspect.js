// The page: which view is shown, and the health of the index.
import { drawCalendar } from "./calendar.js";
import { ask, count, find, make, state, takeSecret } from "./common.js";
import { drawActivity, drawFacts } from "./facts.js";
import { closeNote } from "./note.js";
import { beginHistory, drawHistory } from "./past.js";
import { drawReview, offerReview } from "./review.js";
import { beginSearch, drawHome } from "./search.js";

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

function turnTo() {
  const [name, rest] = location.hash.slice(1).split("/", 2);
  const view = name in VIEWS ? name : "search";
  for (const each of Object.keys(VIEWS)) {
    find(`view-${each}`).hidden = each !== view;
    const tab = document.querySelector(`nav a[href="#${each}"]`);
    if (each === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (!find("note").hidden) closeNote();
  VIEWS[view](rest && decodeURIComponent(rest));
}

async function begin() {
  beginSearch();
  beginHistory();
  find("check").addEventListener("click", () => drawHealth(true));
  addEventListener("hashchange", () => (location.hash.startsWith("#token=") ? location.reload() : turnTo()));
  addEventListener("keydown", (event) => event.key === "Escape" && !find("note").hidden && closeNote());
  try {
    await takeSecret();
    const held = await ask("notes");
    state.notes = held.notes;
    find("agent").textContent = `${held.agent} · ${count(held.notes.length, "note")}`;
    find("paths").replaceChildren(...held.notes.map((note) => make("option", { value: note.path })));
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
