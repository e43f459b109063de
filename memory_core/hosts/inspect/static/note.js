// The note beside the view: its passages, and in them the units that are ranked.
import { ask, find, goTo, keep, link, make, trusted } from "./common.js";

let opener = null; // what had the focus before, and gets it back

export function drawPassages(note, line) {
  return note.passages.map((passage) =>
    make(
      "section", { className: "passage" },
      make("p", {}, passage.startLine === passage.endLine ? `line ${passage.startLine}` : `lines ${passage.startLine}–${passage.endLine}`),
      ...passage.units.map((unit) => {
        const inside = make("div", { tabIndex: -1 });
        inside.innerHTML = trusted(unit.html);
        return make("div", { className: line >= unit.startLine && line <= unit.endLine ? "unit hit" : "unit" }, inside);
      }),
    ),
  );
}

export async function openNote(path, line) {
  const panel = find("note");
  keep({ note: path, line: line || "" }, panel.hidden);
  opener = document.activeElement;
  panel.hidden = false;
  document.body.classList.add("reading");
  const close = make("button", { type: "button", className: "close", ariaLabel: "Close the note", onclick: closeNote }, "×");
  try {
    const note = await ask("note", { path });
    const history = link("History", () => goTo("history", note.path), "small");
    const legend = "Boxes are what is ranked; a line at the left joins those that are embedded together.";
    panel.replaceChildren(
      make("div", { className: "head" }, make("h2", {}, note.path), make("span", { className: "tools" }, history, close)),
      make(
        "div", { className: "body", role: "group", tabIndex: 0, ariaLabel: "Text of the note" },
        make("p", { className: "quiet" }, note.passages.length ? legend : "This note is empty."),
        ...drawPassages(note, line),
        note.truncated ? make("p", { className: "quiet" }, "The note goes on; more of it is indexed than is shown here.") : null,
      ),
    );
  } catch (error) {
    panel.replaceChildren(make("div", { className: "head" }, make("h2", {}, path), close), make("p", {}, error.message));
  }
  panel.focus({ preventScroll: true });
  (panel.querySelector(".hit") ?? panel).scrollIntoView({ block: panel.querySelector(".hit") ? "center" : "start" });
}

export function closeNote() {
  keep({ note: "", line: "" }, true);
  hideNote();
}

export function hideNote() {
  if (find("note").hidden) return;
  find("note").hidden = true;
  document.body.classList.remove("reading");
  if (opener?.isConnected) opener.focus();
}
