// What agents have stored as facts, and what sessions have done.
import { ask, count, find, group, link, make, showDay, showHour, showTime } from "./common.js";
import { openNote } from "./note.js";

const AUTHORS = { user: "the user", agent: "the agent", tool: "a tool", web: "a page or mail", import: "another program" };
const chip = (text, className = "chip") => make("span", { className }, text);

function drawFact(item) {
  const origin = [
    `said by ${AUTHORS[item.origin.by]}`, item.origin.host, item.origin.session, showTime(1000 * item.said),
    item.reinforced && `and by ${count(item.reinforced, "other session")} since`,
    item.recalled && `last recalled ${showTime(1000 * item.recalled)}`, `agent ${item.agent}`,
  ].filter(Boolean);
  const chips = [
    chip(item.kind, `chip kind ${item.kind}`), item.pending && chip("pending", "chip warn"),
    item.correctedBy !== null && chip("superseded", "chip warn"), ...item.tags.map((tag) => chip(`#${tag}`)),
    item.scope !== "default" && chip(`scope ${item.scope}`), make("code", {}, item.id),
  ];
  return make(
    "li", { className: item.correctedBy === null ? "card" : "card old" },
    make("p", { className: "text" }, item.content),
    item.correctedBy && make("p", { className: "why" }, `Now: ${item.correctedBy}`),
    make("p", { className: "chips" }, ...chips.filter(Boolean)),
    make("p", { className: "quiet" }, origin.join(" · ")),
    item.place && drawSource(item),
  );
}

function drawSource({ origin, place, learnedFrom }) {
  if (!place.startsWith("sessions/")) return link(`learned from ${place}`, () => openNote(origin.path, origin.line ?? 0));
  const said = learnedFrom || "The message is not kept any more.";
  return make("details", {}, make("summary", {}, `learned from ${place}`), make("blockquote", {}, said));
}

export async function drawFacts() {
  try {
    const { items, total, enabled } = await ask("items");
    const scopes = [...new Set(items.map((item) => item.scope))].sort();
    const off = enabled ? "" : " Agents see none of them while memorySearch.items.enabled is off.";
    find("facts-lead").textContent = total
      ? `${count(total, "fact")} beside the notes, the one said last first${items.length < total ? `; ${items.length} are shown` : ""}.${off}`
      : `No facts yet. Agents keep short facts with memory_store${enabled ? "." : ", once memorySearch.items.enabled is on."}`;
    find("facts-tools").hidden = !total;
    find("facts-scope").hidden = scopes.length < 2;
    find("facts-scope").replaceChildren(...["every scope", ...scopes].map((name, at) => make("option", { value: at ? name : "" }, name)));
    const draw = () => {
      const words = find("facts-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      const scope = find("facts-scope").value;
      const shown = items.filter((item) => {
        const text = [item.content, item.id, item.kind, item.origin.session ?? "", ...item.tags.map((tag) => `#${tag}`)].join(" ").toLowerCase();
        return (!scope || item.scope === scope) && words.every((word) => text.includes(word));
      });
      const none = total ? [make("li", { className: "empty" }, "No fact holds all of these words.")] : [];
      find("facts").replaceChildren(...(shown.length ? shown.map(drawFact) : none));
    };
    find("facts-filter").oninput = find("facts-scope").onchange = draw;
    draw();
  } catch (error) {
    find("facts-tools").hidden = true;
    find("facts").replaceChildren();
    find("facts-lead").textContent = error.message;
  }
}

function drawPlace(place) {
  if (place.path) return link(place.place, () => openNote(place.path, place.line));
  return place.text ? make("span", {}, `“${place.text}”`) : make("span", { className: "quiet" }, `fact ${place.place}, forgotten`);
}

function drawEntry(entry) {
  const rest = entry.count - entry.places.length;
  const places = entry.places.map((place) => make("li", {}, drawPlace(place)));
  const nothing = { recalled: "found nothing", forgot: "nothing was there", flushed: entry.outcome === "failed" ? "failed" : "nothing to save" }[entry.action] ?? "nothing new";
  return make(
    "li", { className: "entry" },
    make("time", { dateTime: new Date(1000 * entry.at).toISOString() }, showHour(1000 * entry.at)),
    make("span", { className: `badge ${entry.action}` }, entry.action),
    make(
      "div", {},
      places.length ? make("ul", { className: "plain" }, ...places, rest > 0 ? make("li", { className: "quiet" }, `and ${rest} more`) : null) : make("p", {}, nothing),
      make("p", { className: "quiet" }, [entry.by, places.length && entry.outcome, entry.session ?? "this machine’s user"].filter(Boolean).join(" · ")),
    ),
  );
}

export async function drawActivity() {
  try {
    const { activity, enabled } = await ask("activity");
    const sessions = [...new Set(activity.map((entry) => entry.session ?? ""))].sort();
    find("activity-lead").textContent = !enabled
      ? "The log is off; memorySearch.activity.enabled turns it on."
      : activity.length
        ? "What sessions stored, recalled, flushed and forgot. The log names places, and keeps no text."
        : "Nothing yet. What sessions store, recall, flush and forget appears here, by its places.";
    find("activity-tools").hidden = sessions.length < 2;
    const names = [["*", "every session"], ...sessions.map((name) => [name, name || "this machine’s user"])];
    find("activity-session").replaceChildren(...names.map(([value, name]) => make("option", { value }, name)));
    const draw = () => {
      const session = find("activity-session").value;
      const shown = activity.filter((entry) => session === "*" || (entry.session ?? "") === session);
      const byDay = [...group(shown, (entry) => showDay(1000 * entry.at))];
      find("activity").replaceChildren(
        ...byDay.map(([day, entries]) => make("section", {}, make("h2", {}, day), make("ol", { className: "plain" }, ...entries.map(drawEntry)))),
      );
    };
    find("activity-session").onchange = draw;
    draw();
  } catch (error) {
    find("activity-tools").hidden = true;
    find("activity").replaceChildren();
    find("activity-lead").textContent = error.message;
  }
}
