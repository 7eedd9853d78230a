// Ours beside other implementations, against the targets that were set; and what a token costs, by size.

const VERDICTS = { met: ["good", "✓"], missed: ["bad", "✗"], undecided: ["quiet", "?"] };

function drawSpeed(section, content) {
  const { rows } = section.data;
  const far = Math.max(2, ...rows.filter((row) => row.ours_measured).map((row) => row.shown[2])) * 1.1;
  for (const title of new Set(rows.map((row) => row.title))) {
    const some = rows.filter((row) => row.title === title);
    content.append(make("figure", {}, table(title, ["Ours", "Beside", "Tokens/s", "of theirs", "Ratio, dashed: target", "Ratio", "Target"], some.map((row) => {
      if (!row.ours_measured) return [row.ours, row.peer, row.failed || "", "", "", "", ""];
      const [ratio, low, high] = row.shown;
      const words = `${row.ours} beside ${row.peer}: ${ratio} times as fast, between ${low} and ${high}`;
      const target = row.target !== undefined && !row.of ? row.target : null;
      const mark = row.verdict === null ? "" : make("span", { class: VERDICTS[row.verdict][0] }, `${VERDICTS[row.verdict][1]} ${short(row.target)}${row.of ? ` ${row.of}` : ""}${row.verdict === "undecided" ? ", undecided" : ""}`);
      return [row.ours, row.peer.replace(/^ours backend=/, "our "), short(row.ours_measured.tokens_per_s[0]), short(row.peer_measured.tokens_per_s[0]),
        interval({ low, mid: ratio, high }, logarithmic(0.25, far), words, { zero: 1, target }), `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`, mark];
    }), [2, 3])));
  }
}

function drawTables(section, content) {
  content.append(...section.data.tables.map(({ title, head, rows, numbers }) => make("figure", {}, table(title || section.title, head, rows, numbers))));
}

const AXES = { length: "tokens in a sentence", tokens: "tokens in a batch", rows: "sentences at a time", width: "width", depth: "layers on each side", vocabulary: "words" };

function drawCosts(section, content) {
  const { points, common } = section.data;
  const backends = [...new Set(points.map((point) => point.backend))];
  const cost = (point) => (1e6 * point.seconds) / point.tokens;
  content.append(lineLegend(backends));
  for (const work of new Set(points.map((point) => point.work))) {
    const axes = [...new Set(points.filter((point) => point.work === work && point.axis).map((point) => point.axis))];
    content.append(make("h3", {}, `${work[0].toUpperCase()}${work.slice(1)}: microseconds per token`), make("div", { class: "panels" }, axes.map((axis) => {
      const lines = backends.map((backend, kind) => {
        const own = points.filter((point) => point.backend === backend && point.work === work && (point.axis === axis || (point.axis === null && axis in common)));
        return { name: backend, kind, points: own.map((point) => [point.value ?? common[axis], cost(point)]).sort((a, b) => a[0] - b[0]) };
      });
      const ticksX = [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))];
      const words = `${work}, by ${AXES[axis] || axis}: ${lines.map((line) => `${line.name} ${line.points.map(([, y]) => short(y)).join(", ")}`).join("; ")}`;
      return make("figure", {}, make("figcaption", {}, `by ${AXES[axis] || axis}`), lineChart(lines, { x: AXES[axis] || axis, y: "µs per token", words, logX: true, logY: true, ticksX, width: 400, height: 260 }));
    })));
  }
}
