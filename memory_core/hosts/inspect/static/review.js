// What tidy proposes for the notes, one card each: the line as it is and as it is to be, what speaks for it, and the buttons.
import { ask, count, find, link, make, state } from "./common.js";
import { openNote } from "./note.js";

let pen = null;

export function offerReview() {
  document.querySelector('nav a[href="#review"]').hidden = !state.reviews;
}

function drawProposal(each) {
  const line = make("textarea", { value: each.new ?? each.text, rows: 2, ariaLabel: `New line for ${each.path}, line ${each.line}` });
  const act = (action) => settle({ id: each.id, action, ...(action === "accept" && line.value !== each.new && { text: line.value }) });
  const mayAccept = each.new !== null;
  const place = (path, at) => (path === "items" ? make("span", {}, "an item") : link(`${path}:${at}`, () => openNote(path, at)));
  return make(
    "li", { className: "card" },
    make("p", { className: "chips" }, make("span", { className: "chip kind" }, each.kind), place(each.path, each.line)),
    make("p", { className: "text" }, each.text),
    mayAccept && each.path !== "items" && line,
    make("p", { className: "why" }, each.why),
    ...each.evidence.map((told) => make("p", { className: "quiet" }, place(told.path, told.line), ` ${told.text}`)),
    make(
      "div", { className: "row" },
      mayAccept && make("button", { type: "button", onclick: () => act("accept") }, "Accept"),
      make("button", { type: "button", onclick: () => act("reject") }, "Never again"),
    ),
  );
}

async function settle(query) {
  try {
    const done = await ask("resolve", query, pen);
    await drawReview();
    find("undo").hidden = query.action !== "accept";
    const told = { accept: "Changed", reject: "Never again", undo: "Taken back" }[query.action];
    find("review-lead").textContent = `${told}: ${done.path}. ${find("review-lead").textContent}`;
  } catch (error) {
    find("review-lead").textContent = error.message;
  }
  find("review-lead").focus();
}

export async function drawReview() {
  try {
    const held = await ask("proposals");
    pen = held.pen;
    find("review-lead").textContent = held.proposals.length
      ? `${count(held.proposals.length, "proposal")}; nothing changes before you accept it.`
      : "Nothing is proposed.";
    find("proposals").replaceChildren(...held.proposals.map(drawProposal));
    find("undo").onclick = () => settle({ action: "undo" });
  } catch (error) {
    find("review-lead").textContent = error.message;
  }
}
