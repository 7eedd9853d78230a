// A check of somebody's layer: its modules, its figures, and the mistakes that were planted into it.

function moduleTree({ first, course, lines, text }) {
  if (text) return make("div", {}, make("h3", {}, "Where it first differs"), make("pre", { class: "tree", tabindex: "0" }, text));
  const items = lines.map(({ depth, name, text, wrong }) => {
    const item = make("li", { class: wrong ? "bad" : null }, make("strong", {}, `${wrong ? "✗ " : "✓ "}${name}`), `: ${text}`, name === first ? " ← the first that is wrong by itself" : "");
    item.style.setProperty("margin-left", `${depth * 1.4}rem`);
    return item;
  });
  return make("div", {}, make("h3", {}, "Modules, each fed what the reference's was"), make("ul", { class: "modules" }, items), course ? make("p", { class: "quiet" }, course) : null);
}

function drawCheck(section, content) {
  const { figures, planted, notes, tree } = section.data;
  const share = (one) => (one.error === null || !one.limit ? null : one.error / one.limit);
  const sorted = [...figures].sort((a, b) => a.passed - b.passed || (share(b) ?? 0) - (share(a) ?? 0));
  const rows = sorted.map((one) => {
    const part = share(one);
    const mark = one.passed ? make("span", { class: "good" }, "✓") : make("span", { class: "bad" }, "✗");
    return [one.part, one.dtype, mark, part === null ? "" : interval({ mid: part }, linear(0, Math.max(1, part)), `${percent(part)} of the limit`, { width: 140, target: 1 }), part === null ? "" : percent(part), one.reason];
  });
  const fates = { caught: "✓ caught", blind: "✗ went unnoticed", "no effect": "without effect on either side" };
  content.append(...[
    tree ? moduleTree(tree) : null,
    notes.length ? make("ul", {}, notes.map((note) => make("li", {}, note))) : null,
    make("h3", {}, "Figures"), table("Every array, the nearest to its limit first", ["Array", "Dtype", "", "Share, dashed: the limit", "", "Reason"], rows, [4]),
    planted.length ? make("h3", {}, "Planted mistakes") : null,
    planted.length ? table("What was changed on purpose, and what became of it", ["Change", "Fate"], planted.map((one) => [one.what, make("span", { class: one.status === "blind" ? "bad" : null }, fates[one.status] || one.status)])) : null,
  ].filter(Boolean));
}

// Several checks, those that did not pass first; each is drawn when it is opened.
function drawChecks(section, content) {
  content.append(make("div", { class: "frame" }, section.data.checks.map((one) => {
    const inside = make("div", { class: "more wide" }, make("p", { class: "quiet" }, one.test), make("p", {}, one.sentence));
    const fact = make("details", { class: "fact" }, make("summary", {}, make("b", {}, one.name), make("span", { class: one.holds ? "good" : "bad" }, one.holds ? "✓ passed" : "✗ did not pass")), inside);
    let drawn = false;
    fact.addEventListener("toggle", () => { if (fact.open && !drawn) { drawn = true; drawCheck(one, inside); } });
    return fact;
  })));
}
