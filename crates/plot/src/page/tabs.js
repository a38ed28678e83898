// Tabs after the WAI-ARIA pattern. Without this script every panel is shown, one below the other.
for (const group of document.querySelectorAll("[data-tabs]")) {
  const panels = [...group.children];
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", group.dataset.tabs);
  const show = (index, focus) => {
    tabs.forEach((tab, i) => {
      const on = i === index;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      panels[i].hidden = !on;
      if (on && focus) tab.focus();
    });
  };
  const tabs = panels.map((panel, i) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = panel.id + "-tab";
    tab.textContent = panel.dataset.label;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => show(i, true));
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.tabIndex = 0;
    list.append(tab);
    return tab;
  });
  list.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = tabs.indexOf(document.activeElement);
    const last = tabs.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    show(to, true);
  });
  // A link to something in a panel opens that panel.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const index = target ? panels.findIndex((panel) => panel.contains(target)) : -1;
    if (index < 0) return;
    show(index);
    target.scrollIntoView();
  };
  group.prepend(list);
  show(0);
  follow();
  addEventListener("hashchange", follow);
}
