// Tabs, addresses and the data: inflated once, each tab drawn when it is first shown.

const DRAW = { matrix: drawMatrix, behaviours: drawBehaviours, runs: drawRuns, losses: drawLosses, speed: drawSpeed, costs: drawCosts, attention: drawAttention, tables: drawTables, check: drawCheck, checks: drawChecks };

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

async function begin() {
  const state = document.getElementById("state");
  const list = document.querySelector('[role="tablist"]');
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  const panels = tabs.map((tab) => document.getElementById(tab.getAttribute("aria-controls")));
  panels.slice(1).forEach((panel) => { panel.hidden = true; });
  state.textContent = "Unpacking the data …";
  const { sections } = await inflated(document.getElementById("data").textContent);
  state.remove();
  const first = sections.find((one) => one.kind === "matrix");
  if (first) first.first = true;
  const drawn = new Map();
  const drawSection = (panel) => {
    if (drawn.has(panel.id)) return;
    const section = sections.find((one) => one.id === panel.id);
    drawn.set(panel.id, DRAW[section.kind](section, panel.querySelector(".content")) || {});
  };
  const select = (name) => {
    const chosen = Math.max(0, panels.findIndex((panel) => panel.id === name));
    tabs.forEach((tab, i) => { tab.setAttribute("aria-selected", String(i === chosen)); tab.tabIndex = i === chosen ? 0 : -1; });
    panels.forEach((panel, i) => { panel.hidden = i !== chosen; });
    drawSection(panels[chosen]);
    list.scrollLeft = tabs[chosen].offsetLeft - list.offsetLeft - 16;
    return panels[chosen];
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => { history.replaceState(null, "", `#${panels[i].id}`); select(panels[i].id); });
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const other = tabs[(to + tabs.length) % tabs.length];
      other.focus();
      other.click();
    });
  });
  // #cell=torch, layer forward: ffn relu [float64], of another than the first matrix #cell=matrix-on-cuda/...
  const route = () => {
    const given = /^#cell=(?:([a-z\d-]+)\/)?(.*)$/.exec(location.hash);
    if (!given) return select(location.hash.slice(1));
    const panel = select(given[1] || first?.id);
    if (!drawn.get(panel.id).openCell?.(decodeURIComponent(given[2]))) {
      panel.querySelector(".count")?.append(` There is no cell ${decodeURIComponent(given[2])} here.`);
    }
  };
  window.addEventListener("hashchange", route);
  window.addEventListener("beforeprint", () => panels.forEach(drawSection));
  const save = document.getElementById("save");
  save.hidden = false;
  save.addEventListener("click", () => {
    const href = URL.createObjectURL(new Blob([JSON.stringify({ sections }, null, 1)], { type: "application/json" }));
    make("a", { href, download: "report.json" }).click();
    URL.revokeObjectURL(href);
  });
  list.hidden = tabs.length < 2;
  route();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

begin().catch((error) => {
  const place = document.getElementById("state") || document.querySelector("main");
  place.textContent = `The data of this page could not be shown: ${error.message}. Chrome 103, Firefox 113, Safari 16.4 or later can.`;
});
