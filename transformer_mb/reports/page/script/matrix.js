// The matrix: a row per row of the ladder and dtype, which opens to its cases; a column per backend.

const STATUSES = { "": "all", passed: "passed", failed: "failed", ties: "with near-ties", expected: "expected failures" };

function cellsOf({ names, cells, more }) {
  return cells.map(([row, name, dtype, backend, status, error, limit, byNorm, seconds, ties, reason], number) => {
    const cell = {
      number, row: names.row[row], case: names.case[name], dtype: names.dtype[dtype], backend: names.backend[backend], status: names.status[status],
      error, limit, byNorm, seconds, ties, reason, ...more[number],
    };
    cell.id = `${cell.row}: ${cell.case} [${cell.dtype}]`;
    cell.key = `${cell.backend}, ${cell.id}`;
    cell.failed = !["passed", "expected failure"].includes(cell.status);
    cell.share = error === null || limit === null || !Number.isFinite(error / limit) ? (error === 0 ? 0 : null) : error / limit;
    cell.text = `${cell.row} ${cell.case}`.toLowerCase();
    return cell;
  });
}

const WORST = (a, b) => b.failed - a.failed || (b.share ?? -1) - (a.share ?? -1) || a.number - b.number;
const percent = (share) => (share === null ? "✓" : share > 0 && share < 0.005 ? "<1 %" : share > 10 ? `${small(share)} ×` : `${Math.round(share * 100)} %`);

function isShown(cell, { text, backend, status, dtype }) {
  const passes = { "": true, passed: cell.status === "passed", failed: cell.failed, ties: cell.ties > 0, expected: cell.status === "expected failure" };
  return passes[status] && (!backend || cell.backend === backend) && (!dtype || cell.dtype === dtype) && text.every((word) => cell.text.includes(word));
}

function figureButton(cells, label, figures, open) {
  const [worst] = cells;
  const failed = cells.filter((cell) => cell.failed).length;
  const single = cells.length === 1;
  const figure = figures === "error" ? small(worst.error) : percent(worst.share);
  const text = failed ? (single ? "✗ failed" : `✗ ${failed} of ${cells.length}`) : worst.status === "expected failure" ? "expected" : figure;
  const words = failed ? `${failed} of ${many(cells.length, "cell")} failed` : worst.share === null ? `${many(cells.length, "cell")} passed` : `${single ? "" : "at most "}${percent(worst.share)} of the limit, error ${small(worst.error)}`;
  const kind = failed ? "failed" : worst.share === null ? "" : step(worst.share);
  return make("button", { type: "button", class: `figure ${kind}`, tabindex: "-1", "aria-label": `${worst.backend}, ${label}: ${words}`, onclick: () => open(worst, cells) }, text);
}

function drawMatrix(section, content) {
  const { data } = section;
  const cells = cellsOf(data);
  const byKey = new Map(cells.map((cell) => [cell.key, cell]));
  const dialog = cellDialog(section, byKey);
  const state = { text: [], backend: "", status: "", dtype: "", figures: "share", open: new Set() };
  const count = make("p", { class: "count", role: "status" });
  const grid = make("table", { role: "grid", "aria-label": "Matrix: rows by backends" });
  const reset = gridKeys(grid);

  const groupsOf = (shown) => {
    const groups = new Map();
    for (const cell of shown) {
      const key = `${cell.row}, ${cell.dtype}`;
      if (!groups.has(key)) groups.set(key, { key, row: cell.row, dtype: cell.dtype, cells: [] });
      groups.get(key).cells.push(cell);
    }
    return [...groups.values()];
  };
  const columns = (backends, some, label) => backends.map((backend) => {
    const own = some.filter((cell) => cell.backend === backend).sort(WORST);
    return make("td", {}, own.length ? figureButton(own, label, state.figures, dialog.open) : make("span", { class: "none", title: "not in this backend" }, "–"));
  });
  // Rows of cases are made when their group is opened: six thousand cells at once would be read by nobody.
  const caseRows = (group, backends) => {
    const cases = new Map();
    for (const cell of group.cells) cases.set(cell.case, [...(cases.get(cell.case) || []), cell]);
    return [...cases].map(([name, some]) => make("tr", { class: "case" },
      make("th", { scope: "row" }, make("span", { title: name }, name)), columns(backends, some, some[0].id)));
  };
  const body = (group, backends) => {
    const rows = make("tbody");
    const isOpen = () => state.open.has(group.key);
    const opener = make("button", { type: "button", class: "opener", tabindex: "-1", "aria-expanded": String(isOpen()), title: data.sentences[group.row] || "",
      onclick: () => {
        if (isOpen()) state.open.delete(group.key); else state.open.add(group.key);
        opener.setAttribute("aria-expanded", String(isOpen()));
        rows.replaceChildren(head, ...(isOpen() ? caseRows(group, backends) : []));
        opener.focus();
      } }, make("span", {}, group.row, " ", make("small", {}, group.dtype)));
    const head = make("tr", {}, make("th", { scope: "row" }, opener), columns(backends, group.cells, `${group.row}, ${group.dtype}`));
    rows.append(head, ...(isOpen() ? caseRows(group, backends) : []));
    return rows;
  };
  const show = () => {
    const shown = cells.filter((cell) => isShown(cell, state));
    const backends = data.names.backend.filter((backend) => !state.backend || backend === state.backend);
    const groups = groupsOf(shown);
    if (state.text.length && shown.length <= 600) groups.forEach((group) => state.open.add(group.key));
    grid.replaceChildren(
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Row and dtype"), backends.map((backend) => make("th", { scope: "col" }, backend)))),
      ...groups.map((group) => body(group, backends)));
    reset();
    const failed = shown.filter((cell) => cell.failed).length;
    count.textContent = `${shown.length.toLocaleString("en")} of ${many(cells.length, "cell")}, ${failed ? `${failed} failed` : "none failed"}.`;
  };
  const change = (name) => (event) => { state[name] = event.target.value; show(); };
  content.append(
    make("div", { class: "tools" },
      labelled("Row or case", make("input", { type: "search", placeholder: "such as cross-attention", oninput: (event) => { state.text = event.target.value.toLowerCase().split(/\s+/).filter(Boolean); if (!state.text.length) state.open.clear(); show(); } }), true),
      labelled("Backend", choice([["", "all"], ...data.names.backend.map((one) => [one, one])], change("backend"))),
      labelled("Status", choice(Object.entries(STATUSES), change("status"))),
      labelled("Dtype", choice([["", "all"], ...data.names.dtype.map((one) => [one, one])], change("dtype"))),
      labelled("Figures", choice([["share", "share of the limit"], ["error", "relative error"]], change("figures")))),
    count,
    make("div", { class: "frame matrix" }, grid),
    scaleLegend("Share of the limit that the worst cell takes:", "0", "all of it"),
    make("p", { class: "quiet" }, "A row opens to its cases. A figure opens to its cell. Arrow keys move in the table."),
    ...[dialog.element, freeCurves(data.curves)].filter(Boolean));
  show();
  return { openCell: (key) => { const cell = byKey.get(key); if (cell) dialog.open(cell, [cell]); return Boolean(cell); } };
}

// How far each backend's training alone strays, over ten times the band in which the reference strays from itself.
function freeCurves(curves) {
  const figures = Object.entries(curves).flatMap(([dtype, byBackend]) => Object.entries(byBackend).map(([backend, { divergence, band }]) => {
    const words = `${backend} in ${dtype}: difference of the loss from the reference, by step`;
    const points = (values) => values.map((value, i) => [i, Math.max(value, 1e-17)]);
    return make("figure", {}, make("figcaption", {}, `${backend}, ${dtype}`),
      lineChart([{ name: backend, kind: 0, points: points(divergence) }], { x: "step", y: "relative difference", words, logY: true, width: 360, height: 220, band: points(band) }));
  }));
  return figures.length ? make("div", {}, make("h3", {}, "Training by itself"),
    make("p", { class: "sentence" }, "The line is how far a backend's loss is from the reference's; the shaded band is how far the reference strays from itself when its start is off in the last place. Ten times the band is allowed."),
    make("div", { class: "panels" }, figures)) : null;
}
