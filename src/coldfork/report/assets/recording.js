"use strict";
// Draws the imports and moves about in the page. Everything it shows it writes as text, never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const made = (name, className, words) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (words) element.textContent = words;
    return element;
  };

  const span = (micros) => {
    const seconds = micros / 1e6;
    if (seconds === 0) return "0 s";
    if (seconds < 0.00995) return `${(seconds * 1000).toFixed(1)} ms`;
    if (seconds < 0.9995) return `${(seconds * 1000).toFixed(0)} ms`;
    return `${seconds.toFixed(2)} s`;
  };

  function lightAndDark() {
    const button = byId("theme");
    const root = document.documentElement;
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const label = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"}`);
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      label();
    });
    system.addEventListener("change", label);
    label();
    button.hidden = false;
  }

  function timelineZoom() {
    const region = byId("timeline");
    const controls = byId("zoom");
    if (!region || !controls) return;
    let factor = 1;
    const zoom = (wanted) => {
      const next = Math.min(256, Math.max(1, wanted));
      const shown = region.clientWidth - region.querySelector(".corner").offsetWidth;
      const middle = (region.scrollLeft + shown / 2) / factor;
      factor = next;
      region.style.setProperty("--zoom", String(factor));
      region.scrollLeft = middle * factor - shown / 2;
    };
    const steps = { in: () => zoom(factor * 2), out: () => zoom(factor / 2), whole: () => zoom(1) };
    controls.addEventListener("click", (event) => {
      const step = event.target.dataset.zoom;
      if (step) steps[step]();
    });
    region.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "=") steps.in();
      else if (event.key === "-") steps.out();
      else if (event.key === "0") steps.whole();
      else return;
      event.preventDefault();
    });
    controls.hidden = false;
  }

  /** What can be clicked is as large as this, in pixels; a row has a gap below it. */
  const TARGET = 24;
  const ROW = TARGET + 2;
  const KINDS = ["plain", "acts", "leads", "wakes"];
  const SIGNS = ["", "\u2022 ", "\u25c7 ", "\u25c6 "];

  /** The imports of one process as a tree; node 0 stands for all of them. */
  function tree(process, strings) {
    const nodes = [{ name: `all imports of ${process.label}`, path: "", depth: 0, total: 0, start: 0, kind: 0,
      effects: "", parent: -1, place: 0, children: [] }];
    const open = [0];
    for (const [name, path, depth, total, start, kind, effects] of process.imports) {
      open.length = depth + 1;
      const parent = open[depth];
      const place = nodes[parent].children.push(nodes.length) - 1;
      open.push(nodes.length);
      nodes.push({ name: strings[name], path: strings[path], depth: depth + 1, total, start, kind,
        effects: strings[effects], parent, place, children: [] });
    }
    // Children are wider than their parent only where a clock was read in between: then the parent gives way.
    for (let index = nodes.length - 1; index >= 0; index -= 1) {
      const node = nodes[index];
      const below = node.children.reduce((sum, child) => sum + nodes[child].total, 0);
      node.own = Math.max(0, node.total - below);
      node.total = Math.max(node.total, below, 1);
    }
    nodes[0].own = 0;
    nodes[0].from = 0;
    for (const node of nodes) {
      let from = node.from;
      for (const child of node.children) {
        nodes[child].from = from;
        from += nodes[child].total;
      }
    }
    return nodes;
  }

  function icicle() {
    const section = byId("icicle-section");
    if (!section) return;
    const data = JSON.parse(byId("data").textContent);
    const colours = new Map(data.packages);
    const place = byId("icicle");
    const picker = byId("icicle-process");
    const search = byId("icicle-search");
    const found = byId("icicle-found");
    const detail = byId("icicle-detail");
    const inside = byId("icicle-inside");
    const canvas = made("div", "icicle-canvas");
    canvas.setAttribute("role", "presentation");
    place.append(canvas);
    let nodes = [];
    let zoomed = 0;
    let current = 0;
    let matches = null;

    data.processes.forEach((process, index) => {
      const option = made("option", "", `${process.label}: ${process.imports.length} imports`);
      option.value = String(index);
      picker.append(option);
    });

    const isBelow = (index, top) => {
      let here = index;
      while (here > top) here = nodes[here].parent;
      return here === top;
    };

    const width = () => canvas.clientWidth || place.clientWidth;
    const pixels = (node) => (node.total / nodes[zoomed].total) * width();
    const isShown = (index) => isBelow(zoomed, index) || (isBelow(index, zoomed) && pixels(nodes[index]) >= 1.5);

    function visible() {
      const outer = [];
      for (let here = nodes[zoomed].parent; here >= 0; here = nodes[here].parent) outer.unshift(here);
      const inner = [];
      const waiting = [zoomed];
      while (waiting.length) {
        const index = waiting.pop();
        inner.push(index);
        for (const child of [...nodes[index].children].reverse()) {
          if (pixels(nodes[child]) >= 1.5) waiting.push(child);
        }
      }
      return { outer, inner };
    }

    function item(index, left, wide, isOuter) {
      const node = nodes[index];
      const isCurrent = index === current;
      const isThin = wide - 1 < TARGET;
      const element = made("div", `cell ${KINDS[node.kind]}`, isThin ? "" : SIGNS[node.kind] + node.name);
      const colour = colours.get(node.name.split(".")[0]);
      if (index && colour !== undefined) element.classList.add(`package-${colour}`);
      element.dataset.index = String(index);
      element.classList.toggle("thin", isThin);
      element.classList.toggle("outer", isOuter);
      element.classList.toggle("current", isCurrent);
      if (matches) element.classList.add(matches.has(index) ? "match" : "dim");
      // What is too narrow to be hit is not offered; the one that was gone to by key or search gets room.
      const shown = isCurrent ? Math.max(TARGET, wide - 1) : Math.max(1, wide - 1);
      element.style.left = `${Math.max(0, Math.min(left, width() - shown))}px`;
      element.style.width = `${shown}px`;
      element.style.top = `${node.depth * ROW}px`;
      if (isCurrent || !isThin) offerItem(element, index);
      return element;
    }

    function offerItem(element, index) {
      const node = nodes[index];
      element.setAttribute("role", "treeitem");
      element.setAttribute("aria-level", String(node.depth + 1));
      element.setAttribute("aria-posinset", String(node.place + 1));
      element.setAttribute("aria-setsize", String(node.parent < 0 ? 1 : nodes[node.parent].children.length));
      element.setAttribute("aria-selected", String(index === current));
      if (node.children.length) element.setAttribute("aria-expanded", "true");
      element.setAttribute("aria-label",
        [node.name, span(node.total), node.effects].filter(Boolean).join(", "));
      element.tabIndex = index === current ? 0 : -1;
    }

    function draw() {
      const focused = place.contains(document.activeElement);
      const { outer, inner } = visible();
      const scale = width() / nodes[zoomed].total;
      const drawn = document.createDocumentFragment();
      let deepest = 0;
      for (const index of outer) drawn.append(item(index, 0, width(), true));
      for (const index of inner) {
        const node = nodes[index];
        deepest = Math.max(deepest, node.depth);
        drawn.append(item(index, (node.from - nodes[zoomed].from) * scale, node.total * scale, false));
      }
      canvas.replaceChildren(drawn);
      canvas.style.height = `${(deepest + 1) * ROW}px`;
      offerInside();
      if (focused) focus();
      tell(current);
    }

    /** What the current import imports, the slowest first: many are too narrow to be clicked. */
    function offerInside() {
      const { name, children } = nodes[current];
      const first = made("option", "", children.length ? `${name}: ${children.length} imports` : `${name}: none`);
      const slowest = [...children].sort((a, b) => nodes[b].total - nodes[a].total);
      inside.disabled = !children.length;
      inside.replaceChildren(first, ...slowest.map((index) => {
        const option = made("option", "", `${nodes[index].name}, ${span(nodes[index].total)}`);
        option.value = String(index);
        return option;
      }));
      first.value = "";
    }

    function element(index) {
      return canvas.querySelector(`[data-index="${index}"]`);
    }

    function focus() {
      const target = element(current);
      if (target) target.focus({ preventScroll: true });
      reveal();
    }

    function reveal() {
      const top = nodes[current].depth * ROW;
      if (top < place.scrollTop) place.scrollTop = top;
      else if (top + ROW > place.scrollTop + place.clientHeight) place.scrollTop = top + ROW - place.clientHeight;
    }

    function tell(index) {
      const node = nodes[index];
      const words = index === 0
        ? `${nodes.length - 1} imports, ${span(node.total)}`
        : `${span(node.total)}, ${node.own === node.total ? "all" : span(node.own)} of it its own; began at ${span(node.start)}`;
      const lines = [made("p", "", ""), made("p", "", words)];
      lines[0].append(made("b", "", node.name));
      if (node.path) lines.push(made("p", "quiet", node.path));
      if (node.effects) lines.push(made("p", "", node.effects));
      detail.replaceChildren(...lines);
    }

    function go(index) {
      current = index;
      if (!isShown(index)) {
        zoomed = Math.max(0, nodes[index].parent);
        if (!isShown(index)) zoomed = index;
      }
      draw();
    }

    function zoomTo(index) {
      zoomed = index;
      current = index;
      draw();
      place.scrollTop = Math.max(0, (nodes[index].depth - 2) * ROW);
    }

    function beside(step) {
      const parent = nodes[current].parent;
      if (parent < 0) return;
      const next = nodes[parent].children[nodes[current].place + step];
      if (next !== undefined) go(next);
    }

    const keys = {
      ArrowDown: () => nodes[current].children.length && go(nodes[current].children[0]),
      ArrowUp: () => nodes[current].parent >= 0 && go(nodes[current].parent),
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => zoomTo(0),
      Enter: () => zoomTo(current),
      " ": () => zoomTo(current),
      Escape: () => zoomTo(Math.max(0, nodes[zoomed].parent)),
    };

    place.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
      focus();
    });
    canvas.addEventListener("click", (event) => {
      const target = event.target.closest("[data-index]");
      if (!target) return;
      let index = Number(target.dataset.index);
      while (index > 0 && index !== current && pixels(nodes[index]) - 1 < TARGET) index = nodes[index].parent;
      zoomTo(index);
      focus();
    });
    canvas.addEventListener("pointerover", (event) => {
      const target = event.target.closest("[data-index]");
      tell(target ? Number(target.dataset.index) : current);
    });
    canvas.addEventListener("pointerleave", () => tell(current));

    function look() {
      const query = search.value.trim().toLowerCase();
      matches = null;
      found.textContent = "";
      if (query) {
        matches = new Set();
        let own = 0;
        nodes.forEach((node, index) => {
          if (index && (node.name.toLowerCase().includes(query) || node.path.toLowerCase().includes(query))) {
            matches.add(index);
            own += node.own;
          }
        });
        found.textContent = `${matches.size} of ${nodes.length - 1} imports, ${span(own)} of their own`;
      }
      draw();
    }

    function nextMatch(step) {
      const hits = matches ? [...matches] : [];
      if (!hits.length) return;
      const here = hits.indexOf(current);
      const next = here < 0 ? (step > 0 ? 0 : hits.length - 1) : (here + step + hits.length) % hits.length;
      go(hits[next]);
      reveal();
    }

    search.addEventListener("input", look);
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
      else if (event.key === "ArrowDown") focus();
      else if (event.key === "Escape" && search.value) search.value = "", look();
      else return;
      event.preventDefault();
    });
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      search.focus();
    });
    byId("icicle-whole").addEventListener("click", () => zoomTo(0));

    function choose() {
      nodes = tree(data.processes[Number(picker.value)], data.strings);
      zoomed = 0;
      const waking = nodes.findIndex((node) => node.kind === 3);
      current = waking > 0 ? waking : 0;
      look();
      if (!isShown(current)) current = 0, draw();
    }

    inside.addEventListener("change", () => inside.value && zoomTo(Number(inside.value)));
    picker.addEventListener("change", choose);
    section.hidden = false;
    byId("icicle-without").hidden = true;
    choose();
    let before = width();
    new ResizeObserver(() => {
      if (width() !== before) before = width(), draw();
    }).observe(place);
  }

  /** A link may lead to a process in a row that is not open. */
  function openTarget() {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    const closed = target && target.closest("details:not([open])");
    if (!closed) return;
    closed.open = true;
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", openTarget);
  openTarget();
  lightAndDark();
  timelineZoom();
  icicle();
})();
