// Lines over axes: losses over steps, and costs over sizes.

function ticksBetween(from, to, logarithm) {
  if (logarithm && to / from >= 10) {
    const found = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
      for (const digit of [1, 2, 5]) {
        const tick = digit * 10 ** power;
        if (tick >= from * 0.999 && tick <= to * 1.001) found.push(tick);
      }
    }
    const decades = found.filter((tick) => Number.isInteger(Math.round(Math.log10(tick) * 1e9) / 1e9));
    return found.length > 7 && decades.length > 1 ? decades.filter((_, i) => i % Math.ceil(decades.length / 6) === 0) : found;
  }
  const raw = (to - from) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const size = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= raw);
  const found = [];
  for (let tick = Math.ceil(from / size) * size; tick <= to + size * 1e-9; tick += size) found.push(Number(tick.toPrecision(6)));
  return found;
}

// lines: [{name, kind, points: [[x, y]], thin: [[[x, y]]]}]; a name's line has its dashes, so that lines on each other can be told apart.
function lineChart(lines, { x, y, words, logX = false, logY = false, ticksX = null, width = 640, height = 320, band = [] }) {
  const all = lines.flatMap((line) => [...line.points, ...(line.thin || []).flat()]).concat(band).filter(([, value]) => Number.isFinite(value) && (!logY || value > 0));
  if (!all.length) return make("p", { class: "quiet" }, "Nothing to draw.");
  const extent = (place) => [Math.min(...all.map((one) => one[place])), Math.max(...all.map((one) => one[place]))];
  const [[x0, x1], [y0, y1]] = [extent(0), extent(1)];
  const pad = logY ? 1.08 : 0, low = logY ? y0 / pad : y0 - (y1 - y0) * 0.04, high = logY ? y1 * pad : y1 + (y1 - y0) * 0.04;
  const label = (tick) => (Math.abs(tick) < 1e-3 && tick ? small(tick) : short(tick));
  const ticksY = ticksBetween(low, high, logY);
  const left = 28 + 7 * Math.max(...ticksY.map((tick) => label(tick).length)), [right, top, bottom] = [24, 10, 44];
  const sx = (logX ? logarithmic : linear)(x0, x1 === x0 ? x0 + 1 : x1), sy = (logY ? logarithmic : linear)(low, high === low ? low + 1 : high);
  const px = (value) => left + sx(value) * (width - left - right), py = (value) => top + (1 - sy(value)) * (height - top - bottom);
  const path = (points) => points.filter(([, value]) => Number.isFinite(value) && (!logY || value > 0)).map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
  const across = ticksY.map((tick) => [
    draw("line", { class: "axis", x1: left, x2: width - right, y1: py(tick), y2: py(tick) }),
    draw("text", { x: left - 6, y: py(tick) + 4, "text-anchor": "end" }, label(tick))]);
  const along = (ticksX || ticksBetween(x0, x1, logX)).map((tick) => draw("text", { x: px(tick), y: height - bottom + 18, "text-anchor": "middle" }, short(tick)));
  const area = band.length ? draw("path", { class: "band", d: `${path(band.map(([a, b]) => [a, b]))}L${px(x1)} ${py(low)}L${px(x0)} ${py(low)}Z` }) : null;
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words },
    area, across, along,
    draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, x),
    draw("text", { x: -(top + (height - top - bottom) / 2), y: 12, "text-anchor": "middle", transform: "rotate(-90)" }, y),
    lines.flatMap((line) => (line.thin || []).map((points) => draw("path", { class: `thin k${line.kind}`, d: path(points) }))),
    lines.map((line) => draw("path", { class: `line k${line.kind}`, d: path(line.points) })));
}

function lineLegend(names) {
  return make("ul", { class: "legend" }, names.map((name, i) => make("li", {},
    draw("svg", { width: 34, height: 10, "aria-hidden": "true" }, draw("line", { class: `line k${i % 6}`, x1: 1, x2: 33, y1: 5, y2: 5 })), name)));
}
