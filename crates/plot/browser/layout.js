// Runs in the page: what a reader would see go wrong.

/** Text and pictures that leave the window, and text that lies on other text. */
export function faults() {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);
  const name = (node) => {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    return `<${element.tagName.toLowerCase()}> ${(node.textContent || element.alt || "").trim().slice(0, 40)}`;
  };
  for (const image of document.images) {
    if (image.checkVisibility() && image.naturalWidth === 0) found.push(`not drawn: ${image.src}`);
  }
  const boxes = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, .hidden")) continue;
    if (!element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      boxes.push({ box, node });
      // What scrolls sideways may be wider than the window.
      if (!element.closest(".scroll") && (box.left < -0.5 || box.right > root.clientWidth + 0.5)) {
        found.push(`outside: ${name(node)}`);
      }
    }
  }
  for (const image of document.images) {
    if (image.checkVisibility()) boxes.push({ box: image.getBoundingClientRect(), node: image });
  }
  boxes.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < boxes.length; i++) {
    const a = boxes[i];
    for (let k = i + 1; k < boxes.length && boxes[k].box.top < a.box.bottom - 1; k++) {
      const b = boxes[k];
      if (a.node === b.node || b.node.parentElement.contains(a.node) || a.node.parentElement.contains(b.node)) continue;
      const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      // Boxes of lines are taller than their letters.
      if (wide > 1 && high > 4) found.push(`${name(a.node)} lies on ${name(b.node)}`);
    }
  }
  return found;
}
