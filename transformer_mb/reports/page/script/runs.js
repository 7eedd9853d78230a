// The same training on every backend: curves, a verdict with its interval for each measure, attribution, costs.

const MARKS = { same: "✓ same", different: "✗ different" };

function lossCurves({ steps, losses }) {
  const names = Object.keys(losses || {});
  if (!names.length) return null;
  const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const lines = names.map((name, kind) => ({
    name, kind, points: steps.map((x, i) => [x, middle(losses[name].map((run) => run[i]))]), thin: losses[name].map((run) => steps.map((x, i) => [x, run[i]])),
  }));
  const state = { name: "all" };
  const place = make("div");
  const show = () => {
    const shown = lines.filter((line) => state.name === "all" || line.name === state.name);
    const words = `Loss per token by step: ${shown.map((line) => `${line.name} ends at ${short(line.points.at(-1)[1])}`).join(", ")}.`;
    place.replaceChildren(lineChart(shown, { x: "step", y: "loss per token", words, width: 880, height: 380, logY: true }));
  };
  show();
  return make("div", {}, make("h3", {}, "Losses"),
    make("div", { class: "tools" }, segments("Backend", "curve", [["all", "all"], ...names.map((name) => [name, name])], "all", (name) => { state.name = name; show(); })),
    make("figure", {}, lineLegend(names), place,
      make("figcaption", {}, "A thin line per seed, a thick one for the median of the seeds. Dashes of different lengths show through where backends lie on each other.")));
}

function drawLosses(section, content) {
  content.append(lossCurves(section.data.curves));
}

function verdictTable(metric, lines, reference, margin) {
  const unit = lines.find((line) => line.unit !== null);
  const far = Math.max(2 * margin, ...lines.flatMap((line) => [line.low, line.high, line.difference].filter((one) => one !== null).map(Math.abs)));
  const rows = lines.map((line) => {
    const judged = line.difference !== null;
    const words = judged ? `${line.column}: ${signed(line.difference)}, between ${signed(line.low)} and ${signed(line.high)}` : "not measured";
    return [line.column, short(line.mean),
      judged ? interval({ low: line.low, mid: line.difference, high: line.high }, linear(-far, far), words, { band: [-margin, margin], zero: 0 }) : "",
      judged ? `${signed(line.difference)} [${signed(line.low)}, ${signed(line.high)}]` : "",
      make("span", { class: line.verdict === "same" ? "good" : line.verdict === "different" ? "bad" : "quiet" },
        `${MARKS[line.verdict] || line.verdict}${line.needs ? ` (${line.needs} seeds would decide)` : ""}${line.reason ? ` (${line.reason})` : ""}`)];
  });
  const caption = `${metric}: ${reference} has ${short(lines[0].reference_mean)}${unit ? `, its seeds deviate by s = ${short(unit.unit)}` : ""}`;
  return table(caption, ["Backend", "Mean", `Difference, shaded ±${margin} s`, "in s, 90 % interval", "Verdict"], rows, [1]);
}

function drawRuns(section, content) {
  const { lines, reference, margin, costs, effects, curves, left_out: leftOut } = section.data;
  const metrics = [...new Set(lines.map((line) => line.metric))];
  const parts = [lossCurves(curves), make("h3", {}, "Verdicts"),
    ...metrics.map((metric) => make("figure", {}, verdictTable(metric, lines.filter((line) => line.metric === metric), reference, margin)))];
  if (effects.length) {
    const far = Math.max(2 * margin, ...effects.filter((one) => one.difference !== null).map((one) => Math.max(Math.abs(one.low), Math.abs(one.high))));
    parts.push(make("h3", {}, "What each framework's own part does"), table("Mean log loss moved by one part alone, in s with its 90 % interval", ["Backend", "Part", "Way", "", "Moved"], effects.map((one) => [
      one.column, one.switch, one.way,
      one.difference === null ? "" : interval({ low: one.low, mid: one.difference, high: one.high }, linear(-far, far), `${one.column}, ${one.switch}`, { band: [-margin, margin], zero: 0 }),
      one.difference === null ? one.verdict : signed(one.difference)]), [4]));
  }
  if (leftOut.length) parts.push(make("ul", { class: "quiet" }, leftOut.map((one) => make("li", {}, one))));
  parts.push(make("h3", {}, "What a run costs here (no verdict)"), table("Medians over the seeds", ["Backend", "Version", "Tokens/s", "Decoded/s", "Peak memory", "Differs from step"], costs.map((cost) => [
    cost.column, cost.version, short(cost.tokens_per_second), short(cost.decoded_per_second), `${Math.round(cost.peak_memory / 2 ** 20)} MiB`, cost.parts === null ? "" : String(cost.parts)]), [2, 3, 4, 5]));
  content.append(...parts.filter(Boolean));
}
