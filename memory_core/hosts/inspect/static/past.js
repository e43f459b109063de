// What changed last in the notes; the life of one note; a version of it beside the one before.
import { ask, count, find, goTo, link, make, showTime } from "./common.js";
import { drawPassages } from "./note.js";

const FEW = 6; // notes of one moment that are named at once
const SIGNS = { added: "+", removed: "−", same: " ", gap: "⋯" };
const open = (path) => goTo("history", path);

function drawMoment(moment) {
  const names = moment.notes.map((path) => make("li", {}, link(path, () => open(path))));
  const list = make("ul", { className: "plain" }, ...names.slice(0, FEW));
  if (names.length > FEW) {
    const more = link(`and ${names.length - FEW} more`, () => more.parentElement.replaceWith(...names.slice(FEW)), "place quiet");
    list.append(make("li", {}, more));
  }
  return make("li", { className: "entry" }, make("time", { dateTime: new Date(moment.at).toISOString() }, showTime(moment.at)), list);
}

export async function drawHistory(path) {
  find("past").hidden = !path;
  find("moments").hidden = Boolean(path);
  try {
    if (path) return await drawLife(path);
    const { moments, total, versions, bytes } = await ask("changes");
    find("history-lead").textContent = moments.length
      ? `${count(versions, "version")} of notes at ${count(total, "moment")}, ${(bytes / 1e6).toFixed(1)} MB. The last changes first.`
      : "No history yet. Each sync that finds a note changed keeps it as it stood.";
    find("moments").replaceChildren(...moments.map(drawMoment));
  } catch (error) {
    for (const id of ["past", "moments"]) find(id).hidden = true;
    find("history-lead").textContent = error.message;
  }
}

async function drawLife(path) {
  const life = await ask("versions", { path });
  find("history-lead").textContent = life.events.length ? `${count(life.events.length, "event")}, the latest first.` : "No version of this note is kept.";
  find("past-name").textContent = life.path;
  find("version").replaceChildren();
  find("events").replaceChildren(
    ...life.events.map((event) => {
      const time = showTime(event.at);
      const name = event.version === null ? make("span", {}, time) : link(time, () => drawVersion(life.path, event, name));
      const size = event.version === null ? null : make("span", { className: "size" }, make("ins", {}, `+${event.added}`), " ", make("del", {}, `−${event.removed}`));
      return make("li", {}, make("span", { className: `badge ${event.event}` }, event.event), name, size);
    }),
  );
  const last = find("events").querySelector("button");
  if (last) last.click();
}

async function drawVersion(path, event, button) {
  for (const other of find("events").querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  button.setAttribute("aria-current", "true");
  try {
    const version = await ask("version", { path, version: event.version });
    const lines = (version.diff ?? []).map((line) =>
      make("li", { className: line.kind }, make("span", { className: "sign" }, SIGNS[line.kind]), make("span", { className: "number" }, line.line ? `${line.line}` : ""), make("code", {}, line.text || " ")),
    );
    const changes = lines.length
      ? make("ol", { className: "diff", tabIndex: 0, ariaLabel: "Changed lines" }, ...lines)
      : make("p", { className: "quiet" }, version.diff ? "No line differs." : "The note is too long to be compared here; memory-core diff does.");
    find("version").replaceChildren(
      make("h3", {}, event.event === "added" ? "As it came" : "What changed"), changes,
      make("details", {}, make("summary", {}, `The note as it stood on ${showTime(event.at)}`), ...drawPassages(version, 0)),
    );
  } catch (error) {
    find("version").replaceChildren(make("p", {}, error.message));
  }
}

export function beginHistory() {
  find("past-close").addEventListener("click", () => goTo("history"));
}
