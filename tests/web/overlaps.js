// Pairs of visible elements with text of their own whose boxes lie over each other, though neither is within the other.
() => {
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const clip = (element) => {
    let { left, top, right, bottom } = element.getBoundingClientRect();
    for (let outer = element.parentElement; outer; outer = outer.parentElement) {
      if (outer === document.documentElement || getComputedStyle(outer).overflow === "visible") continue;
      const frame = outer.getBoundingClientRect();
      [left, top] = [Math.max(left, frame.left), Math.max(top, frame.top)];
      [right, bottom] = [Math.min(right, frame.right), Math.min(bottom, frame.bottom)];
    }
    return { left, top, right, bottom };
  };
  const boxes = [...document.querySelectorAll("main *, header *")]
    .filter((element) => element.checkVisibility() && !element.closest(".hidden, .skip, option, datalist"))
    .filter((element) => element.matches("input, select, button, meter") || hasText(element))
    .map((element) => [element, clip(element)])
    .filter(([, box]) => box.right - box.left > 1 && box.bottom - box.top > 1);
  const found = [];
  boxes.forEach(([one, a], at) => {
    for (const [other, b] of boxes.slice(at + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 4) found.push(`${one.outerHTML.slice(0, 160)} over ${other.outerHTML.slice(0, 160)}`);
    }
  });
  return found;
}
