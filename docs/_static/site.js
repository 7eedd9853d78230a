// Tabs and side by side of the six ways, and the filter of the behaviours. Without it all six stand below each other.
"use strict";

const remembered = {
  get: (key, otherwise) => { try { return localStorage.getItem(key) || otherwise; } catch { return otherwise; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* a private window keeps nothing */ } },
};

function sixWays() {
  const boxes = [...document.querySelectorAll(".six-ways")];
  if (!boxes.length) return;
  document.body.classList.add("wide");
  const shown = { first: remembered.get("six-first", "torch"), second: remembered.get("six-second", "jax") };

  const refresh = () => boxes.forEach((box) => {
    const second = shown.second === shown.first ? "" : shown.second;
    box.classList.toggle("six-two", second !== "");
    box.querySelectorAll(".six-panel").forEach((panel) => {
      const name = panel.dataset.backend;
      panel.classList.toggle("six-shown", name === shown.first || name === second);
      panel.classList.toggle("six-second", name !== shown.first);
    });
    box.querySelectorAll('[role="tab"]').forEach((tab) => {
      const chosen = tab.dataset.backend === shown.first;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
    });
    box.querySelector("select").value = shown.second;
  });

  const choose = (box, which, name) => {
    const before = box.getBoundingClientRect().top;
    shown[which] = name;
    remembered.set(`six-${which}`, name || "none");
    refresh();
    window.scrollBy(0, box.getBoundingClientRect().top - before);
  };

  boxes.forEach((box) => {
    const panels = [...box.querySelectorAll(".six-panel")];
    const bar = document.createElement("div");
    bar.className = "six-bar";
    const tabs = document.createElement("div");
    tabs.className = "six-tabs";
    tabs.setAttribute("role", "tablist");
    tabs.setAttribute("aria-label", `Frameworks: ${box.dataset.title}`);
    const select = document.createElement("select");
    select.add(new Option("nothing", ""));
    panels.forEach((panel) => {
      const { backend, name } = panel.dataset;
      const tab = document.createElement("button");
      tab.type = "button";
      tab.textContent = name;
      tab.id = `${panel.id}-tab`;
      tab.dataset.backend = backend;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", panel.id);
      tab.addEventListener("click", () => choose(box, "first", backend));
      tabs.append(tab);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      select.add(new Option(name, backend));
    });
    tabs.addEventListener("keydown", (event) => {
      const all = [...tabs.children];
      const at = all.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const tab = all[to % all.length];
      choose(box, "first", tab.dataset.backend);
      tab.focus();
    });
    select.addEventListener("change", () => choose(box, "second", select.value));
    const label = document.createElement("label");
    label.append("beside it ", select);
    bar.append(tabs, label);
    const grid = document.createElement("div");
    grid.className = "six-panels";
    grid.append(...panels);
    box.append(bar, grid);
    box.classList.add("six-live");
  });
  if (shown.second === "none") shown.second = "";

  // A link to a difference opens the framework that it is about.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const panel = target && target.closest(".six-panel");
    if (!panel) return;
    if (!panel.classList.contains("six-shown")) { shown.first = panel.dataset.backend; refresh(); }
    target.scrollIntoView({ block: "center" });
  };
  window.addEventListener("hashchange", open);
  refresh();
  open();
}

function behaviours() {
  if (!document.querySelector("section#what-frameworks-do-by-default")) return;
  const facts = [...document.querySelectorAll("section section section")].filter((one) => one.querySelector("table"));
  const names = { numpy: "NumPy", torch: "PyTorch", tensorflow: "TensorFlow (Keras)", paddle: "Paddle", mxnet: "MXNet", jax: "JAX (flax)" };
  // A reader says Keras where a fact says tensorflow, and LayerNorm where it says layer norm.
  const means = { keras: "tensorflow", pytorch: "torch", flax: "jax", gluon: "mxnet" };
  const joined = (text) => text.toLowerCase().replace(/[\s_-]+/g, "");
  const form = document.createElement("form");
  form.className = "filter";
  form.setAttribute("role", "search");
  form.addEventListener("submit", (event) => event.preventDefault());
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "words of a fact, such as epsilon";
  search.setAttribute("aria-label", "words of a fact");
  form.append(search);
  const group = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = "one ticked: it differs from most; several: they differ from each other";
  group.append(legend);
  form.append(group);
  const boxes = Object.entries(names).map(([name, spoken]) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.value = name;
    label.append(box, ` ${spoken}`);
    group.append(label);
    return box;
  });
  const count = document.createElement("output");
  form.append(count);
  // Who gave each answer of a fact. To have no such layer is no answer.
  const answered = facts.map((fact) => [...fact.querySelectorAll("tbody tr")]
    .filter((row) => row.firstElementChild.textContent.trim() !== "has none")
    .map((row) => row.lastElementChild.textContent.split(",").map((one) => one.trim())));
  const differ = (answers, chosen) => {
    const given = answers.filter((of) => chosen.some((name) => of.includes(name)));
    if (chosen.length > 1) return given.length > 1;
    return !chosen.length || given.some((of) => of.length <= 2);
  };
  // Beside the facts: their groups and the summaries, which a filter leaves out, and the contents' entries of all these.
  const others = [...document.querySelectorAll("section#what-frameworks-do-by-default > section")];
  const entries = [...document.querySelectorAll('.toc-tree a[href^="#"]')].filter((link) => link.hash);
  const refresh = () => {
    const words = search.value.split(/\s+/).map(joined).filter(Boolean);
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    let left = 0;
    facts.forEach((fact, n) => {
      const text = joined(fact.textContent);
      const fits = words.every((word) => text.includes(word) || text.includes(means[word])) && differ(answered[n], chosen);
      fact.hidden = !fits;
      left += fits;
    });
    const all = !words.length && !chosen.length;
    others.forEach((one) => { one.hidden = !all && !facts.some((fact) => !fact.hidden && one.contains(fact)); });
    entries.forEach((link) => { link.parentElement.hidden = document.getElementById(link.hash.slice(1)).hidden; });
    count.textContent = left ? `${left} of ${facts.length} facts` : "No fact has all of these: fewer words, or fewer ticks, find more.";
  };
  form.addEventListener("input", refresh);
  document.querySelector("section#what-frameworks-do-by-default > p").after(form);
  refresh();
}

// What the theme leaves out for readers by ear and by keyboard.
function reachable() {
  document.querySelectorAll('.caption[role="heading"]').forEach((caption) => caption.setAttribute("aria-level", "2"));
  document.querySelectorAll("pre, .table-wrapper, .picture, div.math").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  });
}

sixWays();
reachable();
behaviours();
