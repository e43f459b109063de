// Notes by day; days of what the last search found are marked.
import { count, find, group, link, make, showDay, state } from "./common.js";
import { openNote } from "./note.js";

export function drawCalendar() {
  const byDay = group(state.notes, (note) => note.day);
  const hits = new Set((state.found?.passages ?? []).filter((each) => each.shownAs !== null).map((each) => each.path));
  const months = [...new Set([...byDay.keys()].map((day) => day.slice(0, 7)))].sort().reverse();
  find("months").replaceChildren(...months.map((month) => drawMonth(month, byDay, hits)));
  find("day").replaceChildren(...(months.length ? [] : [make("p", { className: "empty" }, state.problem || "No notes yet, and so no days.")]));
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
      const label = `${day}: ${name}, ${count(notes.length, "note")}${isHit ? ", found by the search" : ""}`;
      const button = make("button", { type: "button", className: isHit ? "hit" : "", ariaLabel: label, ariaPressed: "false" }, `${day}`);
      button.onclick = () => openDay(button, name, notes);
      cells.push(button);
    }
  }
  const title = new Date(year, number - 1, 1).toLocaleDateString("en", { month: "long", year: "numeric" });
  return make("div", { className: "month" }, make("h2", {}, title), make("div", { className: "days" }, ...cells));
}

const MOST = 100; // notes of a day that are listed at once; an import may bring thousands

function openDay(button, name, notes) {
  for (const other of find("months").querySelectorAll("[aria-pressed=true]")) other.ariaPressed = "false";
  button.ariaPressed = "true";
  const list = make("ul", { className: "plain", id: "of-day" });
  const more = make("button", { type: "button" });
  more.onclick = () => {
    const from = list.childElementCount;
    list.append(...notes.slice(from, from + MOST).map((note) => make("li", {}, link(note.path, () => openNote(note.path, 0)))));
    more.hidden = list.childElementCount === notes.length;
    more.textContent = `Show more of ${count(notes.length, "note")}`;
    if (from) list.children[from].querySelector("button").focus();
  };
  more.onclick();
  find("day").replaceChildren(make("h2", {}, showDay(new Date(name))), list, more);
}
