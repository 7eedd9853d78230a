// One cell in full, in a dialog with an address of its own.

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// The command that repeats a cell; a training handed over needs the backend that began it too.
function commandOf(cell, repeat) {
  const from = cell.row.startsWith("hand-over") ? cell.case.replace(/^from /, "") : "";
  const command = from && from !== cell.backend ? repeat.replace(`--backends ${cell.backend}`, `--backends ${cell.backend},${from}`) : repeat;
  return `${command} --cases ${quoted(cell.id)}`;
}

// The cell in a few lines, for an issue.
function markdownOf(cell, command, tree) {
  const lines = [`**${cell.key}**: ${cell.status}`, "", `- figure ${small(cell.error)}, limit ${small(cell.limit)}`, `- ${cell.reason}`, ...(cell.worst ? [`- worst number: ${cell.worst}`] : [])];
  return [...lines, "", "```", command, ...(tree ? ["", tree] : []), "```", ""].join("\n");
}

function copier(words, text, told) {
  const onclick = () => navigator.clipboard.writeText(text).then(() => { told.textContent = " copied"; }, () => { told.textContent = " not permitted here: select it instead"; });
  return make("button", { type: "button", class: "button", onclick }, words);
}

function quantileChart({ own, reference }, at) {
  const points = (values) => at.map((share, i) => [share, values[i]]).filter(([, value]) => value > 0);
  const lines = [{ name: "this backend", kind: 0, points: points(own) }, ...(reference ? [{ name: "NumPy in this dtype", kind: 1, points: points(reference) }] : [])];
  return make("figure", {}, lineLegend(lines.map((line) => line.name)),
    lineChart(lines, { x: "share of the numbers with at most this error", y: "error", words: "Quantiles of the errors of single numbers", logY: true, width: 560, height: 240 }),
    make("figcaption", {}, reference ? "Where the two lie on each other, the errors are those of rounding." : "In float64 the limit is fixed, and none of NumPy's errors belongs to it."));
}

function cellDialog(section, byKey) {
  const { data, id: tab } = section;
  const inside = make("div", { class: "inside" });
  const place = make("span", { class: "place", role: "status" });
  let list = [], current = null;
  const stepTo = (by) => () => show(list[list.indexOf(current) + by]);
  const previous = make("button", { type: "button", class: "button", onclick: stepTo(-1) }, "‹ Nearer to its limit");
  const next = make("button", { type: "button", class: "button", onclick: stepTo(1) }, "Farther ›");
  const close = make("button", { type: "button", class: "button", onclick: () => element.close() }, "Close");
  const element = make("dialog", { "aria-labelledby": `${tab}-cell` }, make("div", { class: "bar" }, place, previous, next, close), inside);
  const back = () => history.replaceState(null, "", `#${tab}`);
  element.addEventListener("close", back);
  element.addEventListener("click", (event) => { if (event.target === element) element.close(); });
  const prefix = section.first ? "" : `${tab}/`;

  function show(cell) {
    current = cell;
    const at = list.indexOf(cell);
    const command = commandOf(cell, data.repeat[cell.backend]);
    const planted = data.controls.filter(([number]) => number === cell.number);
    const tree = data.trees[cell.key];
    const facts = [
      ["Figure", `relative error ${small(cell.error)}`], ["Limit", small(cell.limit)],
      ["Share", cell.share === null ? "not measured" : make("span", {}, cell.share > 10 ? `${small(cell.share)} times the limit` : `${(cell.share * 100).toPrecision(3)} % of the limit`, meter(cell.share))],
      ["Reason", cell.reason],
      ["Limit by norm", cell.byNorm === null ? null : small(cell.byNorm)],
      ["Near-ties", cell.ties ? String(cell.ties) : null], ["Took", cell.seconds ? `${cell.seconds.toPrecision(2)} s` : null],
    ];
    const copied = make("span", { class: "quiet", role: "status" });
    inside.replaceChildren(
      make("span", { class: `status ${cell.failed ? "failed" : ""}` }, cell.failed ? `✗ ${cell.status}` : `✓ ${cell.status}`),
      make("h2", { id: `${tab}-cell` }, cell.key),
      ...(data.sentences[cell.row] ? [make("p", { class: "quiet" }, data.sentences[cell.row])] : []),
      make("dl", {}, facts.filter(([, value]) => value).map(([label, value]) => [make("dt", {}, label), make("dd", {}, value)])),
      ...(tree ? [make("h3", {}, "Where it first differs"), make("pre", { class: "tree", tabindex: "0" }, tree)] : []),
      ...(cell.worst ? [make("h3", {}, "Worst number"), make("p", {}, cell.worst)] : []),
      ...(cell.quantiles ? [make("h3", {}, "Errors of single numbers"), quantileChart(cell.quantiles, data.at)] : []),
      make("h3", {}, "Run it again"), make("pre", {}, command),
      make("p", {}, copier("Copy the command", command, copied), " ", copier("Copy the cell as Markdown", markdownOf(cell, command, tree), copied), copied),
      ...(planted.length ? [make("h3", {}, `Planted mistakes: ${planted.filter((one) => one[2]).length} of ${planted.length} caught`),
        make("ul", {}, planted.map(([, name, caught, reason]) => make("li", {}, `${caught ? "✓" : "✗ missed:"} ${name}: ${reason}`)))] : []));
    place.textContent = list.length > 1 ? `${at + 1} of ${many(list.length, "cell")}, by share of the limit` : "";
    previous.hidden = next.hidden = list.length < 2;
    previous.disabled = at <= 0;
    next.disabled = at >= list.length - 1;
    element.scrollTop = 0;
    history.replaceState(null, "", `#cell=${prefix}${encodeURIComponent(cell.key)}`);
  }
  return { element, open(cell, cells) { list = cells; show(cell); if (!element.open) element.showModal(); } };
}

function meter(share) {
  const bar = make("i");
  bar.style.setProperty("width", `${Math.min(100, share * 100)}%`);
  return make("span", { class: share > 1 ? "meter over" : "meter", "aria-hidden": "true" }, bar);
}
