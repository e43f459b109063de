// Shared by all views: elements, questions to the server, times. Text of notes goes in by textContent, and the HTML of a note,
// which the server has made harmless, by the one trusted-types policy below.
export const find = (id) => document.getElementById(id);
const policy = window.trustedTypes?.createPolicy("memory-core", { createHTML: (html) => html });
export const trusted = (html) => (policy ? policy.createHTML(html) : html);
export const state = { notes: [], found: null, problem: "" };

export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// The secret comes in the fragment of the link, stays with this tab, and goes out in a header, which no other origin gets. Another
// tab of this page, which was opened without it, asks for it; no page of another port hears that.
const SECRET = "memory-core secret";
const PATIENCE_MS = 500;
const tabs = new BroadcastChannel(SECRET);
tabs.addEventListener("message", ({ data }) => {
  const held = sessionStorage.getItem(SECRET);
  if (data === null && held) tabs.postMessage(held);
});

export async function takeSecret() {
  const [, given] = location.hash.match(/^#token=([\w-]+)$/) ?? [];
  if (given) {
    sessionStorage.setItem(SECRET, given);
    history.replaceState(null, "", location.pathname);
  } else if (!sessionStorage.getItem(SECRET)) {
    await new Promise((done) => {
      tabs.addEventListener("message", ({ data }) => data && done(sessionStorage.setItem(SECRET, data)));
      setTimeout(done, PATIENCE_MS);
      tabs.postMessage(null);
    });
  }
}

// What is looked at stands in the fragment, too, which browsers send to nobody: #view/rest?q=question&note=path&line=3 and filters.
export function readPlace() {
  const [, view = "", rest = "", query = ""] = location.hash.match(/^#(\w*)(?:\/([^?]*))?(?:\?(.*))?$/) ?? [];
  return { view: view || "search", rest: decodeURIComponent(rest), values: new URLSearchParams(query) };
}

export function writePlace(view, rest, values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  return `#${view}${rest ? `/${encodeURIComponent(rest)}` : ""}${query ? `?${query}` : ""}`;
}

// Keeps values of this view in the fragment; with `adds`, the browser's "back" leads to what was there before.
export function keep(changed, adds = false) {
  const { view, rest, values } = readPlace();
  const place = writePlace(view, rest, { ...Object.fromEntries(values), ...changed });
  if (place !== location.hash) history[adds ? "pushState" : "replaceState"](null, "", place);
}

// Another view; the question goes along.
export const goTo = (view, rest = "") => (location.hash = writePlace(view, rest, { q: readPlace().values.get("q") }));

export async function ask(name, query = {}, pen = null) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(SECRET)}`, ...(pen && { "x-memory-core-review": pen }) };
  const answer = await fetch(`/api/${name}?${new URLSearchParams(query)}`, { headers, method: pen ? "POST" : "GET" });
  if (answer.status === 403) throw new Error(await answer.text());
  const body = await answer.json();
  if (!answer.ok) throw new Error([body.error, body.action].filter(Boolean).map(raise).join(". "));
  return body;
}

export const raise = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

export function link(text, act, className = "place") {
  return make("button", { className, type: "button", onclick: act }, text);
}

export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });
const hours = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
export const showDay = (time) => days.format(time);
export const showHour = (time) => hours.format(time);
export const showTime = (time) => `${showDay(time)}, ${showHour(time)}`;
export const group = (values, name) => {
  const groups = new Map();
  for (const value of values) groups.has(name(value)) ? groups.get(name(value)).push(value) : groups.set(name(value), [value]);
  return groups;
};
